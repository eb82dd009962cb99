# Observes: what hooks of the program see of the imports that an uncaught error brings.
# Ends: error 1
# Template: python
import sys
seen = []
sys.addaudithook(lambda event, arguments: event == "import" and print("imports", arguments[0], flush=True))
print({}["missing"])
