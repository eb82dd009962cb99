"""Runs inside of a freshly unpacked root, as its own Python, and leaves there what the packages'
maintainer scripts would have: caches, links and the few files of /etc. `rootfs/build` is its caller."""
import compileall
import glob
import json
import os
import pathlib
import subprocess
import sys

STANDARD_LIBRARY = os.path.dirname(os.__file__)
LIBRARIES = "/usr/lib/" + os.path.basename(glob.glob("/usr/lib/*-linux-gnu")[0])

# The targets of Debian's alternatives. They are linked directly, not by /etc, so that /usr is complete in itself.
LINKS = {
    "/usr/bin/awk": "gawk",
    "/usr/bin/sh": "dash",
    "/usr/bin/which": "which.debianutils",
    LIBRARIES + "/libblas.so.3": "openblas-serial/libblas.so.3",
    LIBRARIES + "/libopenblas.so.0": "openblas-serial/libopenblas.so.0",
    LIBRARIES + "/liblapack.so.3": "openblas-serial/liblapack.so.3",
    "/etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
    "/usr/lib/ssl/cert.pem": "/etc/ssl/certs/ca-certificates.crt",
}

# Only those files of /etc are kept that programs below /usr look up; libjail shows no others.
KEPT_OF_ETC = {"alternatives", "bash.bashrc", "debian_version", "fonts", "gai.conf", "ld.so.cache", "ld.so.conf",
               "ld.so.conf.d", "localtime", "matplotlibrc", "mime.types", "os-release", "protocols", "services",
               "ssl", "timezone"}


def link(path, target):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(target, path)
    if not os.path.exists(path):
        sys.exit(f"finish: {path} would lead to {target}, which is not there")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pathlib.Path(path).write_text(text, encoding="utf-8")


def join_certificates():
    found = sorted(glob.glob("/usr/share/ca-certificates/mozilla/*.crt"))
    if not found:
        sys.exit("finish: no certificates")
    write("/etc/ssl/certs/ca-certificates.crt",
          "".join(pathlib.Path(path).read_text(encoding="utf-8").rstrip("\n") + "\n" for path in found))


def keep_font_list():
    """Matplotlib reads every font file when it finds no list of them in the user's own cache, and a
    guest's home is empty: a third of a second for each program that plots. The list is made here,
    and the root's matplotlib looks for it beside itself first."""
    import matplotlib
    import matplotlib.font_manager as fonts
    kept = os.path.join(matplotlib.get_data_path(), "fontlist.json")
    found = fonts.FontManager()
    for entries in (found.ttflist, found.afmlist):
        entries.sort(key=lambda entry: entry.fname)  # not in the arbitrary order of the file system
    fonts.json_dump(found, kept)
    entries = json.loads(pathlib.Path(kept).read_text(encoding="utf-8"))
    if not entries["ttflist"]:
        sys.exit("finish: matplotlib finds no font")
    path = pathlib.Path(fonts.__file__)
    source = path.read_text(encoding="utf-8")
    start = "fontManager = _load_fontmanager()\n"
    if source.count(start) != 1:
        sys.exit(f"finish: {path} starts its font list in another way than this build knows")
    path.write_text(source.replace(start, f"""try:
    fontManager = json_load({kept!r})
    if fontManager._version != FontManager.__version__:
        raise ValueError("made for another version")
except (OSError, ValueError):
    fontManager = _load_fontmanager()
"""), encoding="utf-8")


def compile_python():
    """A guest cannot keep bytecode, so all of it is here, and valid whatever the files' times say."""
    for directory in (STANDARD_LIBRARY, "/usr/lib/python3/dist-packages"):
        compiled = compileall.compile_dir(
            directory, quiet=1, workers=0, maxlevels=40,
            invalidation_mode=compileall.py_compile.PycInvalidationMode.UNCHECKED_HASH)
        if not compiled:
            sys.exit(f"finish: something below {directory} does not compile")


def main():
    for path, target in LINKS.items():
        if not target.startswith("/etc/"):
            link(path, target)
    join_certificates()
    for path, target in LINKS.items():
        if target.startswith("/etc/"):
            link(path, target)
    write("/etc/timezone", "Etc/UTC\n")
    for name in os.listdir("/etc"):
        if name not in KEPT_OF_ETC:
            subprocess.run(["/usr/bin/rm", "-rf", "/etc/" + name], check=True)
    subprocess.run(["/usr/sbin/ldconfig", "-X"], check=True)
    os.unlink(STANDARD_LIBRARY + "/sitecustomize.py")  # a link into /etc, to a hook of crash reports
    keep_font_list()
    compile_python()


main()
