#!/usr/bin/env python3
"""Checks a file of sessctl prove: verify.py FILE [HEAD]

Written from docs/ledger.md alone, so that nobody has to believe sessctl about its own
history. HEAD is a file with a signed head that somebody kept: the history in FILE must
continue it. Prints what was proven, or the reason why nothing was and leaves 1."""
import base64, gzip, hashlib, json, sys

def need(condition, reason):
    if not condition:
        raise ValueError(reason)

# Ed25519 (RFC 8032), slow and short.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

def plus(p, q):
    (x, y, z, t), (u, v, w, s) = p, q
    a, b, c, d = (y - x) * (v - u) % P, (y + x) * (v + u) % P, 2 * t * s * D % P, 2 * z * w % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P

def times(n, p):
    q = (0, 1, 1, 0)
    while n:
        q, p, n = plus(q, p) if n & 1 else q, plus(p, p), n >> 1
    return q

def point(octets):
    y = int.from_bytes(octets, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    need(y < P and (x * x - square) % P == 0 and (x or not sign), "not a point of the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P

BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))

def signed(public, message, signature):
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    (a, b, c, _), (u, v, w, _) = times(s, BASE), plus(point(signature[:32]), times(k, point(public)))
    return len(signature) == 64 and s < L and (a * w - u * c) % P == 0 and (b * w - v * c) % P == 0

def decoded(text, length=None):
    octets = base64.b64decode(text, validate=True)
    need(base64.b64encode(octets).decode() == text and length in (None, len(octets)), "not base64")
    return octets

def head(text, key):
    """The size and the root of a head that the key has signed."""
    name, number, public = key.split("+", 2)
    public = decoded(public, 33)
    tag = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
    need(public[0] == 1 and tag.hex() == number, "not a key")
    body, _, signatures = text.rpartition("\n\n")
    need(signatures.endswith("\n"), "not a signed head")
    ours = [decoded(s[len(name) + 3:]) for s in signatures.split("\n") if s.startswith("\u2014 " + name + " ")]
    ours = [s[4:] for s in ours if s[:4] == tag]
    need(ours and all(signed(public[1:], body.encode() + b"\n", s) for s in ours), "not signed with the key")
    origin, size, root = body.split("\n")[:3]
    need(origin == name and size == str(int(size)) and int(size) >= 0, "not a head of this ledger")
    return int(size), decoded(root, 32)

def root(pieces, lo, hi):
    """The hash over the leaves lo to hi-1 (RFC 6962); pieces maps ranges to hashes."""
    if (lo, hi) in pieces:
        return pieces[lo, hi]
    need(hi - lo > 1, "no hash ends there")
    middle = lo + (1 << (hi - lo - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + root(pieces, lo, middle) + root(pieces, middle, hi)).digest()

def fits(pieces, size, expected):
    found = root(pieces, 0, size) if size else hashlib.sha256().digest()
    need(found == expected, "the head of %d entries is not that of these entries" % size)

def once(pairs):
    need(len(dict(pairs)) == len(pairs), "a key that is there twice")
    return dict(pairs)

def fields(value, **kinds):
    need(isinstance(value, dict) and set(value) == set(kinds), "other fields than these")
    need(all(type(value[k]) is kinds[k] for k in kinds), "a field of another kind")
    return [value[k] for k in kinds]

def note(entry, known, begins):
    """Notes an archive's length and hash, and with which of them another one begins."""
    fact = json.loads(entry)
    if fact.get("kind") in ("made", "adopted", "superseded") and "id" in fact and "sha256" in fact:
        known[fact["id"]] = whole = (fact.get("bytes", 0), fact["sha256"])
        first, longer = (whole, fact.get("archive")) if fact["kind"] == "superseded" else (known.get(fact.get("archive")), fact["id"])
        if first and longer:
            begins.setdefault(longer, []).append(first)

def verify(lines, earlier=None):
    key, heads, pieces, at, shown, archives, now, known, begins, length = None, [], {}, 0, [], {}, None, {}, {}, {}
    for number, text in enumerate(lines):
        need(text.endswith(b"\n"), "it ends in the middle of a line")
        (kind, value), = json.loads(text.decode(), object_pairs_hook=once).items()
        need((number == 0) == (kind == "proof"), "a line that does not belong there")
        if kind == "proof":
            version, key, _, _ = fields(value, version=int, key=str, made=str, selection=dict)
            need(version == 1, "another version")
        elif kind == "head":
            heads.append(head(value, key))
            need(at == 0 and (len(heads) == 1 or heads[-1][0] > heads[-2][0]), "a head that does not belong there")
        elif kind == "tree":
            lo, hi, hashed = fields(value, **{"from": int, "to": int, "hash": str})
            need(lo == at < hi <= heads[-1][0], "pieces that do not follow each other")
            pieces[lo, hi], at = decoded(hashed, 32), hi
        elif kind == "leaf":
            lo, entry = fields(value, at=int, text=str)
            need(lo == at < heads[-1][0], "pieces that do not follow each other")
            pieces[lo, lo + 1], at = hashlib.sha256(b"\0" + entry.encode()).digest(), lo + 1
            shown.append(entry)
            note(entry, known, begins)
        else:
            archive, total, part = fields(value, archive=str, sha256=str, gzip=str)
            need(kind == "bytes" and archive and heads and at == heads[-1][0], "a line that does not belong there")
            if archive != now:
                need(archive not in archives, "pieces that do not follow each other")
                now, archives[archive], length[archive] = archive, (total, hashlib.sha256()), 0
            need(archives[archive][0] == total, "two hashes of one archive")
            octets, found = gzip.decompress(decoded(part)), archives[archive][1]
            for end, first in begins.get(archive, []):
                begun, cut = found.copy(), end - length[archive]
                begun.update(octets[:max(cut, 0)])
                need(not 0 < cut <= len(octets) or begun.hexdigest() == first, "archive %s begins otherwise" % archive)
            length[archive] += len(octets)
            found.update(octets)
    need(heads and at == heads[-1][0], "it ends early")
    for size, expected in heads + ([head(earlier, key)] if earlier else []):
        need(size <= at, "older than the head: the file is, or the history was cut back")
        fits(pieces, size, expected)
    for archive, (total, found) in archives.items():
        need(found.hexdigest() == total, "archive %s has other bytes" % archive)
        need(all(end <= length[archive] for end, _ in begins.get(archive, [])), "archive %s is too short" % archive)
    return heads[-1], shown, archives

if __name__ == "__main__":
    try:
        with open(sys.argv[1], "rb") as file:
            kept = open(sys.argv[2], encoding="utf-8", newline="").read() if len(sys.argv) > 2 else None
            (size, hashed), shown, archives = verify(file, kept)
        print("proven: %d of %d entries, %d archives, root %s" % (len(shown), size, len(archives), base64.b64encode(hashed).decode()))
    except Exception as reason:
        sys.exit("no proof: %s" % reason)
