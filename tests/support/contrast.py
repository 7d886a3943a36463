"""How well a colour can be told from another."""


def contrast(colour, ground):
    """Of two colours, 0 to 255 each, as WCAG 2 defines it."""
    def light(part):
        part /= 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
    lights = sorted(sum(weight * light(part) for weight, part in zip((0.2126, 0.7152, 0.0722), one))
                    for one in (colour, ground))
    return (lights[1] + 0.05) / (lights[0] + 0.05)
