/*  runtime/text/byte_order_mark.h - the bytes that some programs write before text in UTF-8.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_TEXT_BYTE_ORDER_MARK_H
#define TND_RUNTIME_TEXT_BYTE_ORDER_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*  Its size. */
enum { TND_BYTE_ORDER_MARK = 3 };

typedef enum { TND_MARK_KEEP, TND_MARK_REMOVE } tnd_mark_use_t;

/*  The choices of an option of this type. */
#define TND_MARK_USES "keep|remove"

/*  Bytes of the mark that the text begins with: 0 if it has none. */
static inline size_t tnd_byte_order_mark(const void *text, size_t size)
{
    return size >= TND_BYTE_ORDER_MARK && memcmp(text, "\xef\xbb\xbf", TND_BYTE_ORDER_MARK) == 0
               ? TND_BYTE_ORDER_MARK
               : 0;
}

#endif
