# Observes: an uncaught exception, its source lines and its marks below the expression.
# Ends: error 1
def divide(numerator, denominators):
    return [numerator / each for each in denominators]


class Account:
    def __init__(self, values):
        self.values = values

    def total(self, key=lambda each: divide(each, [1, 0])):
        return sum(map(lambda value: key(value)[0],
                       self.values))


print("before", flush=True)
Account([3, 4]).total()
print("never")
