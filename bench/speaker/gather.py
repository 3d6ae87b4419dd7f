"""Writes texts whose speaker is known, for the command beside this file to learn from.

    python3 gather.py LOGS... > texts.json

It runs the commands of testdata/commands.txt and the help of the programs in /usr/bin,
reads source files of Go modules, and takes messages and output of tools from the logs
below the directories. What said.py and forms.py make up comes on top.
"""
import json, os, random, re, shutil, subprocess, sys, tempfile
import forms, said

HERE = os.path.dirname(os.path.abspath(__file__))
# Programs that ask, draw or end something even when they are asked for help.
NEVER = set('wall write sg su newgrp login bashbug perlbug reset clear yes watch kill killall pkill skill snice '
            'script passwd chfn chsh vi vim ex view rvim ed red top systemd run-parts wish xmessage xkill'.split())
ENDS = 'go h json yml toml txt c xml sh s yaml sum txtar html tmpl conf bash ts js py golden Makefile Dockerfile sql'.split()


def run(args, folder, seconds):
    env = {'PATH': os.environ['PATH'], 'HOME': folder, 'TERM': 'dumb', 'PAGER': 'cat', 'COLUMNS': '100'}
    try:
        p = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, cwd=folder, env=env)
    except (OSError, subprocess.SubprocessError):
        return ''
    return p.stdout[:60000].decode('utf8', 'replace')


def commands(folder):
    shutil.copytree(HERE + '/testdata', folder, dirs_exist_ok=True)
    run(['bash', '-c', 'javac -d o Ok.java; gcc ok.c -o ok'], folder, 60)
    kinds = []
    for l in open(HERE + '/testdata/commands.txt'):
        if re.match(r'\w+\|', l):
            kinds.append(l.split('|', 1)[1])
        else:
            kinds[-1] += l
    return [[run(['bash', '-c', k], folder, 60)] for k in kinds]


def helps(folder):
    names = [n for n in sorted(os.listdir('/usr/bin')) if n not in NEVER and not re.match('x|X|gtk|gdk|lz|llvm-', n)]
    return [[x[:6000]] for x in (run(['/usr/bin/' + n, '--help'], folder, 3) for n in names) if x.strip()]


def files(r):
    paths = {}
    top = subprocess.check_output(['go', 'env', 'GOMODCACHE'], text=True).strip()
    for folder, _, names in os.walk(top):
        for n in names:
            end = n.rsplit('.', 1)[-1]
            if end in ENDS and '/cache/' not in folder:
                paths.setdefault(end, []).append(folder + '/' + n)
    return [[open(p, errors='replace').read(20000) for p in r.sample(sorted(l), min(len(l), 50))] for _, l in sorted(paths.items())]


def texts(content):
    if isinstance(content, str):
        yield content
    for p in content if isinstance(content, list) else []:
        if isinstance(p, str):
            yield p
        elif isinstance(p, dict) and isinstance(p.get('text'), str) and p.get('type') in (None, 'text', 'input_text', 'output_text'):
            yield p['text']


def unpacked(text):
    """What a tool printed, if a text is an object of JSON that has it."""
    try:
        return str(json.loads(text)['output']) if text.startswith('{"output":') else text
    except (ValueError, RecursionError):
        return text


def walk(o, found):
    for x in o if isinstance(o, list) else o.values() if isinstance(o, dict) else []:
        walk(x, found)
    if not isinstance(o, dict):
        return
    role, content = o.get('role') or o.get('type'), o.get('content', o.get('parts'))
    if o.get('type') in ('tool_result', 'toolResult', 'function_call_output') or role in ('toolResult', 'tool'):
        found['tool'] += (unpacked(x) for x in texts(o.get('output', content)))
    elif role in ('user', 'human'):
        found['user'] += texts(content)
    elif role in ('assistant', 'gemini', 'model'):
        found['agent'] += texts(content)


def logs(folders):
    found = {'tool': [], 'user': [], 'agent': []}
    for top in folders:
        for folder, _, names in os.walk(top):
            for n in sorted(names):
                raw = open(os.path.join(folder, n), errors='replace').read()
                for text in [raw] + raw.split('\n'):
                    if text.startswith(('{', '[')):
                        try:
                            walk(json.loads(text), found)
                        except (ValueError, RecursionError):
                            pass
    return found


def typed(text):
    """Whether a message is one that a person typed, as far as its beginning tells."""
    text = text.strip()
    return text and len(text) < 700 and text.count('\n') < 5 and text[0] not in '<[/#{*'


def main():
    r = random.Random(5)
    found = logs(sys.argv[1:])
    people = sorted({x.strip() for x in found['user'] if typed(x)})
    own = [said.message(r) for _ in range(9000)]
    names = ['Lea: ', 'tom: ', 'Ana: ', 'Kim: ', '207: ', '14 of them: ', 'Noor (office): ']
    own += [r.choice(names) + p for p in people if '\n' not in p and len(p) < 200 and r.random() < .25]
    with tempfile.TemporaryDirectory() as folder:
        shown = {
            'command': commands(folder), 'help': helps(folder), 'file': files(r),
            'tool': [[x] for x in sorted(set(found['tool'])) if len(x) > 60 and '\n' in x],
            'form': [[forms.lines(r)] for _ in range(7000)],
        }
    agents = [x for x in sorted(set(found['agent'])) if len(x) < 4000]
    json.dump({'Shown': shown, 'People': people, 'Own': own, 'Agents': agents}, sys.stdout)


main()
