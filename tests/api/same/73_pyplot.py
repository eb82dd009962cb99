# Observes: pyplot: backend, settings as shipped, a figure as bytes, numbers of figures.
# Needs: matplotlib
import hashlib
import io
import os
import matplotlib
import matplotlib.pyplot as plt
print(matplotlib.__version__, matplotlib.get_backend(), plt.get_fignums(), plt.isinteractive(), matplotlib.rcParams["figure.dpi"])
print(matplotlib.matplotlib_fname(), len(matplotlib.rcParams), matplotlib.rcParams["font.family"], matplotlib.rcParams["savefig.format"])
figure, axes = plt.subplots()
axes.plot([1, 2, 3], [2, 1, 3], label="line")
axes.legend()
axes.set_title("a title, ü")
print(figure.number, plt.gcf() is figure, axes.lines, plt.gca().get_xlim())
drawn = io.BytesIO()
figure.savefig(drawn, format="png", metadata={"Software": None})
print(len(drawn.getvalue()), hashlib.sha256(drawn.getvalue()).hexdigest())
plt.savefig("figure.png")
plt.show()
print(sorted(os.listdir(".")), plt.get_fignums())
