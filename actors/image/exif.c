/*  actors/image/exif.c - how a camera was held, from the EXIF segment of a JPEG. */
#include "actors/image/exif.h"

#include <string.h>

/*  `Exif`, two zeros, then a TIFF file: byte order, 42, the offset of a directory of entries of 12
 *  bytes: tag, type, count, value. */
enum { HEAD = 6, TIFF_HEAD = 8, ENTRY = 12, TAG_ORIENTATION = 0x112, TYPE_SHORT = 3 };

static uint32_t number(const uint8_t *at, uint32_t size, bool little)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < size; i++)
        value = value << 8 | at[little ? size - 1 - i : i];
    return value;
}

bool tnd_exif_is(const uint8_t *data, size_t size)
{
    return size >= HEAD + TIFF_HEAD && memcmp(data, "Exif\0", HEAD) == 0;
}

uint32_t tnd_exif_orientation(const uint8_t *data, size_t size)
{
    if (!tnd_exif_is(data, size))
        return 1;
    const uint8_t *tiff = data + HEAD;
    size -= HEAD;
    bool little = tiff[0] == 'I';
    uint32_t at = number(tiff + 4, 4, little);
    if (at > size - 2)
        return 1;
    uint32_t count = number(tiff + at, 2, little);
    at += 2;
    for (uint32_t i = 0; i < count && size - at >= ENTRY; i++, at += ENTRY) {
        const uint8_t *entry = tiff + at;
        if (number(entry, 2, little) != TAG_ORIENTATION ||
            number(entry + 2, 2, little) != TYPE_SHORT)
            continue;
        uint32_t value = number(entry + 8, 2, little);
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}
