"""Both ends of a channel, `send` or `look` as the first argument says.

Orders are lines of JSON on standard input, each answered by a line of JSON. The sender is told a bit and acts. The other end measures:
first it learns what was sent, then it says so itself. With `slots` both act by the clock instead, which jails share."""
class Listener:
    """First learns the measures for a zero and for a one; a bit gets the value to which its measure is nearer."""

    def __init__(self, kind):
        self.kind, self.learned, self.at_rest = kind, ([], []), 0

    def rest(self):
        """Measures while nothing is sent. Others do less in the moment that follows than in all of a message."""
        self.at_rest = self.measure()

    def learn(self, bit):
        self.learned[bit].append(self.measure() - self.at_rest)

    def measure(self):
        try:
            return self.kind.measure()
        except OSError as refused:
            return -refused.errno

    def bit_of(self, value):
        zero, one = (statistics.median(values) for values in self.learned)
        return int(abs(value - one) < abs(value - zero))

    def look(self):
        return self.bit_of(self.measure() - self.at_rest)


def wait_until(moment):
    """Sleeps for all but the last bit, where sleeping would be too coarse."""
    while (left := moment - time.monotonic()) > 0:
        if left > 0.0005:
            time.sleep(left - 0.0003)


def act(kind, bit):
    """A refused action sends nothing."""
    with contextlib.suppress(OSError):
        kind.act(bit)


def send_in_slots(kind, start, period, bits):
    for number, bit in enumerate(bits):
        wait_until(start + number * period)
        act(kind, bit)
    return "sent"


def look_in_slots(listener, start, period, bits, known):
    """Looks in the second half of each slot. The first `known` bits were agreed on."""
    values = []
    for number in range(len(bits)):
        wait_until(start + (number + 0.6) * period)
        values.append(listener.measure())
    for bit, value in zip(bits[2:known], values[2:known]):
        listener.learned[bit].append(value)
    return [listener.bit_of(value) for value in values[known:]]


class End:
    def __init__(self):
        self.processors = os.sched_getaffinity(0)
        self.used = None

    def use(self, name):
        if self.used != name:
            end_children()
            kind = KINDS[name]
            os.sched_setaffinity(0, {min(self.processors)} if kind.one_processor else self.processors)
            self.used = name
            self.kind = kind(sys.argv[1] == "send")
            self.listener = Listener(self.kind)

    def obey(self, kind, order, bit=None, **slots):
        self.use(kind)
        if order == "ready":
            return "ready"
        if order == "send":
            act(self.kind, bit)
            return "sent"
        if order == "rest":
            return self.listener.rest()
        if order == "learn":
            return self.listener.learn(bit)
        if order == "measure":
            return self.kind.measure()
        if order == "look":
            return self.listener.look()
        if sys.argv[1] == "send":
            return send_in_slots(self.kind, **slots)
        return look_in_slots(self.listener, **slots)


def end_children():
    for child in Kind.children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    Kind.children.clear()


end = End()
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    print(json.dumps(end.obey(**json.loads(line))), flush=True)
end_children()
