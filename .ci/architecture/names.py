"""Which files of Swift name a word in code, without comments and the text of string literals."""
import os, re


def code(text):
    """The code of a file: comments become spaces, and string literals keep only what they interpolate."""
    out, i, end = [], 0, len(text)
    # What encloses the current character: a literal with its closing quote and number signs, or an interpolation with
    # the number of its open parentheses.
    stack = []
    while i < end:
        if stack and stack[-1][0] == "literal":
            _, closing, signs = stack[-1]
            if text.startswith("\\" + signs + "(", i):
                i += 2 + len(signs)
                stack.append(["code", 1])
            elif text.startswith(closing, i):
                i += len(closing)
                stack.pop()
                out.append(" ")
            elif not signs and text[i] == "\\":
                i += 2
            else:
                i += 1
            continue
        if text.startswith("//", i):
            i = text.find("\n", i)
            if i < 0:
                break
            continue
        if text.startswith("/*", i):
            depth, i = 1, i + 2
            while depth and i < end:
                if text.startswith("/*", i):
                    depth, i = depth + 1, i + 2
                elif text.startswith("*/", i):
                    depth, i = depth - 1, i + 2
                else:
                    i += 1
            continue
        opening = re.compile(r'(#*)("""|")').match(text, i)
        if opening:
            stack.append(["literal", opening[2] + opening[1], opening[1]])
            i = opening.end()
            continue
        if stack:
            stack[-1][1] += {"(": 1, ")": -1}.get(text[i], 0)
            if stack[-1][1] == 0:
                stack.pop()
                i += 1
                continue
        out.append(text[i])
        i += 1
    return "".join(out)


def naming(folder, word):
    """The files below a folder whose code has identifiers with a word, in any case of letters."""
    for top, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".swift"):
                path = os.path.join(top, name)
                with open(path) as file:
                    text = file.read()
                if re.search(word, text, re.I) and re.search(word, code(text), re.I):
                    yield os.path.relpath(path, folder)
