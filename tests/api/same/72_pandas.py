# Observes: pandas: frames, printing, dates, a csv that came along, options as they were shipped.
# Needs: pandas
# Ends: error 1
import io
import sys
import warnings
import pandas
print(pandas.__version__, pandas.get_option("display.max_rows"), pandas.get_option("mode.chained_assignment"), pandas.options.display.width)
frame = pandas.read_csv("rows.csv", parse_dates=["day"])
print(frame, frame.dtypes, frame.describe(), frame.groupby("kind").value.agg(["sum", "mean"]), sep="\n")
frame["half"] = frame.value / 2
frame[frame.kind == "a"]["half"] = 0
print(frame.pivot_table(index="day", columns="kind", values="half"), frame.to_json(), sep="\n")
frame.info(buf=sys.stdout)
frame.to_sql("t", __import__("sqlite3").connect(":memory:"))
print(pandas.date_range("2026-01-01", periods=3, freq="W"), pandas.Timestamp("2026-03-29", tz="Europe/Berlin"))
print(pandas.read_json(io.StringIO('[{"a": 1}]')), [str(each) for each in warnings.filters][:0])
print(pandas.concat([frame, frame]).duplicated().sum(), pandas.Series(["x", None]).str.upper().tolist())
frame.missing
