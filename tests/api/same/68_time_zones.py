# Observes: zoneinfo and tables of time zones.
import datetime
import time
import zoneinfo
print(len(zoneinfo.available_timezones()) > 400, zoneinfo.TZPATH)
for name in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"):
    print(datetime.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo(name)).isoformat(), zoneinfo.ZoneInfo(name).key)
import os
os.environ["TZ"] = "America/New_York"
time.tzset()
print(time.tzname, time.localtime(0).tm_hour)
