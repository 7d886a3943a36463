#!/usr/bin/env python3
"""`tundish new --launch k8s`: its manifest is valid, and the command and variables in it are a run of pods, which
are processes here."""
import os
import shutil
import subprocess
import time
import sys

from command import BUILD, FEED, ROOT, TUNDISH, arrays, holds, main, run, same, topology
from launched import PREP, alone, clean, stream

EXAMPLES = ROOT / "examples/launch"
OVER = "insecure: true\nhosts:\n  node[*]: {lanes: each, actors: [read, prep, batch, feed]}\n"


def objects(text):
    try:
        import yaml
    except ImportError:
        print("skipped: python3-yaml is not installed")
        sys.exit(0)
    return list(yaml.safe_load_all(text))


def prepare(folder, top="start_timeout: 20s\n", rows="epochs: 1"):
    arrays(folder)
    path = topology(folder, actors=PREP + FEED % "", links=["read -> prep -> batch -> feed"], read=f", {rows}",
                    top=f"name: My run_2\nlanes: 2\n{top}", batch="size: 16, replicas: 4")
    over = folder / "spmd.yaml"
    over.write_text(OVER)
    return path, over


def manifest(*files, pods=4):
    code, out, err = run("new", "--launch", "k8s", "-n", pods, *files)
    same((code, err), (0, ""))
    return out


def test_the_example_is_what_the_command_prints(folder):
    text = manifest(ROOT / "examples/fashion/fashion.yaml", EXAMPLES / "spmd.yaml")
    same(text, (EXAMPLES / "job.yaml").read_text())
    files, service, job = objects(text)
    for name, place in (("fashion.yaml", "fashion"), ("spmd.yaml", "launch")):
        same(files["data"][name], (ROOT / "examples" / place / name).read_text())
    same([files["kind"], service["kind"], job["kind"]], ["ConfigMap", "Service", "Job"])
    same((service["spec"]["clusterIP"], service["metadata"]["name"]), ("None", job["spec"]["template"]["spec"]["subdomain"]))
    same(service["spec"]["selector"], {"job-name": job["metadata"]["name"]})
    same((job["spec"]["completionMode"], job["spec"]["completions"], job["spec"]["parallelism"]), ("Indexed", 4, 4))
    rules = {rule["action"]: rule for rule in job["spec"]["podFailurePolicy"]["rules"] if "onExitCodes" in rule}
    same((rules["FailJob"]["onExitCodes"]["values"], rules["Ignore"]["onExitCodes"]["values"]), ([2, 78], [75]))


# A process of its own, in which modules of this folder do not hide those that it imports.
VALIDATE = """
import sys
try:
    import kubernetes_validate, kubernetes_validate.utils, yaml
except ImportError:
    sys.exit("skipped: kubernetes-validate is not installed")
newest = sorted(set(kubernetes_validate.utils.all_versions()), key=lambda one: [int(part) for part in one.split(".")])[-3:]
for version in newest:
    for one in yaml.safe_load_all(open(sys.argv[1])):
        kubernetes_validate.validate(one, version, strict=True)
        print(version, one["kind"])
"""


def test_it_is_valid(folder):
    done = subprocess.run([sys.executable, "-c", VALIDATE, EXAMPLES / "job.yaml"], capture_output=True, text=True, cwd=folder)
    if done.stderr.startswith("skipped"):
        print(done.stderr.strip())
        return
    same((done.returncode, len(set(done.stdout.splitlines()))), (0, 9), done.stdout + done.stderr)


def test_names_that_yaml_has_another_meaning_for_are_texts(folder):
    path, over = prepare(folder)
    path.write_text(path.read_text().replace("name: My run_2", "name: 'yes'"))
    _, service, job = objects(manifest(path, over))
    same([service["metadata"], service["spec"]["selector"], job["metadata"], job["spec"]["template"]["spec"]["subdomain"]],
         [{"name": "yes"}, {"job-name": "yes"}, {"name": "yes"}, "yes"])


def test_files_of_any_text_arrive_as_they_are(folder):
    path, over = prepare(folder)
    for end in ("\n", "", "\n\n\n", "# ü\t\\ \"quoted\"\r\n", "# tab\tinside\n"):
        path.write_text(path.read_text().rstrip("\n") + "\n" + end)
        same(objects(manifest(path, over))[0]["data"]["graph.yaml"], path.read_bytes().decode(), repr(end))
    odd = folder / "a b$.yaml"
    shutil.copy(path, odd)
    files, _, job = objects(manifest(odd, over))
    same(list(files["data"]), ["a-b-.yaml", "spmd.yaml"])
    same(job["spec"]["template"]["spec"]["containers"][0]["command"][2:4], ["/files/a-b-.yaml", "/files/spmd.yaml"])
    same(job["metadata"]["name"], "my-run-2")
    assert "--resume" not in str(job)
    path.write_text("checkpoint: {dir: /data/kept}\n".join(path.read_text().split("lanes: 2\n")))
    holds(str(objects(manifest(path, over))[2]), "'--resume'")


def pods(folder, path, over):
    """A function that starts the pod of an index as the manifest says, with names of its own; None: it cannot be done."""
    files, _, job = objects(manifest(path, over))
    if os.getuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        print("skipped: names of pods need a mount namespace")
        return None
    (folder / "files").mkdir()
    for name, text in files["data"].items():
        (folder / "files" / name).write_text(text)
    names = folder / "hosts"
    names.write_text("127.0.0.1 localhost\n")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    command = [word.replace("/files/", f"{folder}/files/") for word in container["command"]]
    same(command[0], "tundish")
    command[command.index("/data")] = str(folder)
    name = job["metadata"]["name"]

    def start(index):
        if index == 0:
            names.write_text(f"127.0.0.1 localhost\n127.0.0.1 {name}-0.{job['spec']['template']['spec']['subdomain']}\n")
        variables = {one["name"]: one["value"] for one in container["env"]}
        return subprocess.Popen(
            ["unshare", "-m", "sh", "-c", f"mount --bind {names} /etc/hosts && exec \"$@\"", "pod", TUNDISH, *command[1:]],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=clean(JOB_COMPLETION_INDEX=str(index), HOSTNAME=f"{name}-{index}", **variables))
    return start


def test_pods_run_as_the_manifest_says(folder):
    path, over = prepare(folder)
    start = pods(folder, path, over)
    if start is None:
        return
    order = (1, 2, 3, 0)  # rank 0 is the last, and its name appears with it
    started = [start(index) for index in order]
    ended = [(one.communicate(timeout=40), one.returncode) for one in started]
    same([code for _, code in ended], [0] * 4, ended)
    same(stream(ended[3][0][0]), alone(path))
    for rank, (texts, _) in zip(order, ended):
        holds(texts[1], f"launch: kubernetes job my-run-2, rank {rank} of 4 is host node{rank}")


def test_pods_follow_the_name_of_rank_0_to_another_address(folder):
    path, over = prepare(folder)
    start = pods(folder, path, over)
    if start is None or not os.path.exists("/proc/net/if_inet6"):
        return
    # The name is that of an earlier pod, where nothing listens.
    (folder / "hosts").write_text("127.0.0.1 localhost\n::1 my-run-2-0.my-run-2\n")
    others = [start(index) for index in (1, 2, 3)]
    time.sleep(1)  # they dial there meanwhile; nothing tells that
    started = [start(0), *others]
    ended = [(one.communicate(timeout=40), one.returncode) for one in started]
    same([code for _, code in ended], [0] * 4, ended)


def test_a_pod_that_is_killed_is_started_again(folder):
    path, over = prepare(folder, top="start_timeout: 20s\ndead_after: 2s\nrestarts: {run: 3}\n", rows="epochs: forever")
    start = pods(folder, path, over)
    if start is None:
        return
    every = [start(index) for index in range(4)]

    def has_met(process, times):
        while times:
            line = process.stderr.readline()
            assert line, [one.communicate(timeout=40) for one in every]
            times -= "rank 0 of 4 is host node0" in line
    has_met(every[0], 1)
    every[2].kill()
    every[2].communicate()
    every[2] = start(2)
    has_met(every[0], 1)
    while "epoch" not in every[0].stdout.readline():
        pass
    every[0].kill()  # the leader: the others end, and Kubernetes starts each again
    same([one.wait(40) for one in every[1:]], [75] * 3)
    for one in every:
        one.communicate()
    every = [start(index) for index in range(4)]
    has_met(every[0], 1)
    while "epoch" not in every[0].stdout.readline():
        pass
    for one in every:
        one.terminate()
    ended = [(one.communicate(timeout=40), one.returncode) for one in every]
    same([code for _, code in ended], [130] * 4, ended)


def test_a_leader_without_a_name_is_lost_not_wrong(folder):
    path, over = prepare(folder, top="start_timeout: 1s\n")
    done = subprocess.run([TUNDISH, "run", path, over], capture_output=True, text=True, timeout=20, env=clean(
        JOB_COMPLETION_INDEX="1", TUNDISH_HOSTS="2", TUNDISH_LEADER="none-0.invalid", HOSTNAME="none-1"))
    same((done.returncode, done.stderr.count("\n")), (75, 1), done.stderr)
    holds(done.stderr, "rank 0 is at none-0.invalid, which has no address here")


def test_a_leader_whose_name_is_of_an_earlier_pod_is_lost_not_wrong(folder):
    path, over = prepare(folder, top="start_timeout: 1s\n")
    done = subprocess.run([TUNDISH, "run", path, over], capture_output=True, text=True, timeout=20, env=clean(
        JOB_COMPLETION_INDEX="0", TUNDISH_HOSTS="2", TUNDISH_LEADER="192.0.2.1", HOSTNAME="none-0"))
    same((done.returncode, done.stderr.count("\n")), (75, 1), done.stderr)
    holds(done.stderr, "rank 0 runs here, but 192.0.2.1 is another machine")


def test_the_image_has_the_libraries_of_the_command(folder):
    recipe = (EXAMPLES / "Containerfile").read_text()
    needed = subprocess.run(["readelf", "-d", TUNDISH], capture_output=True, text=True).stdout
    names = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line]
    assert names, needed
    # One search for all: each reads the lists of all packages.
    found = subprocess.run(["dpkg", "-S", *(f"*/{name}" for name in names)], capture_output=True, text=True).stdout
    for name in names:
        packages = {line.split(":")[0] for line in found.splitlines() if line.endswith(f"/{name}")}
        if "bookworm" in open("/etc/os-release").read() and not name.startswith(("libc.", "libm.", "ld-", "libgcc", "lib?san")):
            assert packages & set(recipe.split()), f"{name} of {packages} is not in the image"


def test_mistakes(folder):
    path, over = prepare(folder)
    named = folder / "named.yaml"
    named.write_text("port: 7100\nhosts:\n  a: {actors: [read, batch]}\n  b: {actors: [prep]}\n  c: {actors: [feed]}\n")
    (folder / "two").mkdir()
    shutil.copy(over, folder / "..spmd.yaml")
    shutil.copy(path, folder / "two/spmd.yaml")
    for words, code, said in ((["--launch", "k8s", path], 2, "needs -n N, the number of pods"),
                              (["--launch", "slurm", "-n", "4", path], 2, "--launch slurm: write k8s"),
                              (["--launch", "k8s", "-n", "4", path, named], 2, "4 processes, but this topology has 3 hosts"),
                              (["--launch", "k8s", "-n", "4", folder / "two/spmd.yaml", over], 78, "have the same name in the pods, spmd.yaml"),
                              (["--launch", "k8s", "-n", "4", path, folder / "..spmd.yaml"], 78, "..spmd.yaml: a ConfigMap takes no name"),
                              (["--launch", "k8s", "-n", "4", folder / "none.yaml"], 78, "none.yaml")):
        got, out, err = run("new", *words)
        same((got, out), (code, ""), err)
        holds(err, said)


main(globals())
