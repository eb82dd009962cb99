# Observes: a function of many lines fails in its last one.
# Ends: error 1
def long():
    total = 0
    total += 1; total += 2; total += 3
    text = """of
    several
    lines"""
    return (
        total
        + len(text)
        + text
    )


exec(compile("def made():\n    return 1 / 0\n", "<made>", "exec"))
try:
    made()
except ZeroDivisionError:
    __import__("traceback").print_exc()
eval("long()")
