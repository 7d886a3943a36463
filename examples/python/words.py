"""Texts become numbers by the longest words of a vocabulary that they begin with, as WordPiece does: for words.yaml.

    python3 examples/python/words.py TEXT... > vocabulary.txt     writes the words of texts, the most frequent first
"""
import collections
import sys


class Tokenizer:
    """Made once per process, with the `options` of the topology; called with a tile of lines."""

    def __init__(self, vocabulary):
        with open(vocabulary, encoding="utf-8") as lines:
            self.numbers = {line.rstrip("\n"): number for number, line in enumerate(lines, 1)}
        self.longest = max(map(len, self.numbers), default=0)

    def __call__(self, lines):
        return {"ids": [self.encode(line.decode(errors="replace")) for line in lines]}

    def encode(self, text):
        return [number for word in text.lower().split() for number in self.pieces(word)]

    def pieces(self, word):
        """The numbers of the pieces of a word; 0 for a character that is in none."""
        at = 0
        while at < len(word):
            for end in range(min(len(word), at + self.longest), at, -1):
                number = self.numbers.get(word[at:end], 0)
                if number > 0 or end == at + 1:
                    break
            yield number
            at = end


def main(files):
    words = collections.Counter()
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                words.update(line.lower().split())
    letters = sorted(set("".join(words)) - set(words))
    print("\n".join([word for word, _ in words.most_common(30000)] + letters))


if __name__ == "__main__":
    main(sys.argv[1:])
