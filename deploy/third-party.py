"""Prints the licences of everything that is compiled into the programs: whose, which, and the texts that come with the sources."""

import json
import pathlib
import subprocess
import sys

PROGRAMS = {"vufleet", "vufleet-agent"}
NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def metadata():
    host = next(line.split()[1] for line in run("rustc", "-vV").splitlines() if line.startswith("host:"))
    return json.loads(run("cargo", "metadata", "--format-version=1", "--locked", "--offline", f"--filter-platform={host}"))


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked(meta):
    """Ids of the packages that the programs are made of: what they depend on, neither for tests nor for building alone."""
    nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
    todo = [package["id"] for package in meta["packages"] if package["name"] in PROGRAMS]
    seen = set()
    while todo:
        package = todo.pop()
        if package in seen:
            continue
        seen.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return seen


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name.upper().startswith(NAMES):
            yield path.read_text(encoding="utf-8", errors="replace").strip()


def main():
    meta = metadata()
    ids = linked(meta)
    others = [package for package in meta["packages"] if package["id"] in ids and package["source"]]
    others.sort(key=lambda package: (package["name"], package["version"]))
    bare = [package["name"] for package in others if not package["license"] and not package["license_file"]]
    if bare:
        sys.exit(f"third-party: these crates name no licence, look and decide: {', '.join(bare)}")
    print("vufleet's programs contain the following crates, under these licences. The texts follow.\n")
    for package in others:
        print(f"{package['name']} {package['version']}: {package['license'] or 'see its text'}")
    holders = {}
    for package in others:
        for text in texts(package):
            holders.setdefault(text, []).append(f"{package['name']} {package['version']}")
    for text, names in holders.items():
        print(f"\n{'=' * 78}\n{', '.join(names)}\n\n{text}")


main()
