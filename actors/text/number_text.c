/*  actors/text/number_text.c - numbers that are written as text. */
#include "actors/text/number_text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

typedef struct {
    const char *at, *end;
} text_t;

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

static text_t trim(const char *text, size_t size)
{
    text_t self = {text, text + size};
    while (self.at < self.end && is_space(*self.at))
        self.at++;
    while (self.at < self.end && is_space(self.end[-1]))
        self.end--;
    return self;
}

/*  Consumes a sign; returns whether it was a minus. */
static bool take_minus(text_t *self)
{
    bool minus = self->at < self->end && *self->at == '-';
    if (minus || (self->at < self->end && *self->at == '+'))
        self->at++;
    return minus;
}

/*  Whether all that is left is this word, in any case. */
static bool is_word(const text_t *self, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(self->end - self->at) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (lower(self->at[i]) != word[i])
            return false;
    return true;
}

/* --- integers ----------------------------------------------------------------------------------- */

static bool read_integer(tnd_dtype_t dtype, text_t text, void *out)
{
    bool minus = take_minus(&text), has_sign = tnd_dtype_is_signed(dtype);
    unsigned bits = 8 * (unsigned)tnd_dtype_size(dtype) - has_sign;
    uint64_t most = (UINT64_MAX >> (64 - bits)) + (minus && has_sign), number = 0;
    if (text.at == text.end || (minus && !has_sign))
        return false;
    for (; text.at < text.end; text.at++) {
        uint64_t digit = (uint64_t)(*text.at - '0');
        if (!is_digit(*text.at) || number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    number = minus ? 0 - number : number;
    memcpy(out, &number, tnd_dtype_size(dtype));
    return true;
}

/* --- floats ------------------------------------------------------------------------------------- */

static size_t skip_digits(text_t *self, bool hex)
{
    const char *first = self->at;
    while (self->at < self->end &&
           (is_digit(*self->at) || (hex && lower(*self->at) >= 'a' && lower(*self->at) <= 'f')))
        self->at++;
    return (size_t)(self->at - first);
}

/*  Whether all that is left is an unsigned number. */
static bool is_float(text_t text)
{
    bool hex = text.end - text.at > 2 && text.at[0] == '0' && lower(text.at[1]) == 'x';
    text.at += hex ? 2 : 0;
    size_t digits = skip_digits(&text, hex);
    if (text.at < text.end && *text.at == '.') {
        text.at++;
        digits += skip_digits(&text, hex);
    }
    if (digits == 0)
        return false;
    if (text.at < text.end && lower(*text.at) == (hex ? 'p' : 'e')) {
        text.at++;
        take_minus(&text);
        if (skip_digits(&text, false) == 0)
            return false;
    }
    return text.at == text.end;
}

/*  Most numbers are short: their digits and the power of ten are exact doubles, so one rounding is
 *  the only one.  Returns false for others. */
static bool read_short(text_t text, double *number_p)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits = 0;
    int count = 0, scale = 0;
    bool point = false;
    for (; text.at < text.end && (is_digit(*text.at) || (*text.at == '.' && !point)); text.at++) {
        if (*text.at == '.') {
            point = true;
            continue;
        }
        if (++count > 15)
            return false;
        digits = digits * 10 + (uint64_t)(*text.at - '0');
        scale -= point;
    }
    if (count == 0)
        return false;
    if (text.at < text.end) {
        if (lower(*text.at++) != 'e')
            return false;
        bool minus = take_minus(&text);
        int exponent = 0;
        if (text.at == text.end || text.end - text.at > 3)
            return false;
        for (; text.at < text.end; text.at++) {
            if (!is_digit(*text.at))
                return false;
            exponent = exponent * 10 + (*text.at - '0');
        }
        scale += minus ? -exponent : exponent;
    }
    if (scale < -22 || scale > 22)
        return false;
    *number_p = scale < 0 ? (double)digits / powers[-scale] : (double)digits * powers[scale];
    return true;
}

/*  Rounds once, to the type; a program that called setlocale may use a decimal comma. */
static void read_long(tnd_dtype_t dtype, text_t text, double *number_p, float *small_p)
{
    enum { USUAL = 256 };
    char usual[USUAL];
    size_t size = (size_t)(text.end - text.at);
    char *copy = size < USUAL ? usual : tnd_allocate(size + 1, 1);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        abort();
    memcpy(copy, text.at, size);
    copy[size] = '\0';
    if (dtype == TND_F32)
        *small_p = strtof_l(copy, NULL, plain);
    else
        *number_p = strtod_l(copy, NULL, plain);
    freelocale(plain);
    if (copy != usual)
        free(copy);
}

/*  Whether a double, which is rounded already, can be rounded again to the float that the text is
 *  nearest to: it is not half-way between two of them, and they are neither denormal nor infinite. */
static bool rounds_twice(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return number == 0 || (number > 0x1p-126 && number < 0x1p127 &&
                           (bits & UINT64_C(0x1fffffff)) != UINT64_C(0x10000000));
}

static bool read_float(tnd_dtype_t dtype, text_t text, void *out)
{
    bool minus = take_minus(&text), nan = is_word(&text, "nan");
    double number = 0;
    float small = 0;
    uint32_t small_bits = UINT32_C(0x7fc00000);
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    if (!nan) {
        if (is_word(&text, "inf") || is_word(&text, "infinity"))
            small = (float)(number = __builtin_inf());
        else if (read_short(text, &number) && (dtype == TND_F64 || rounds_twice(number)))
            small = (float)number;
        else if (is_float(text))
            read_long(dtype, text, &number, &small);
        else
            return false;
        memcpy(&bits, &number, sizeof bits);
        memcpy(&small_bits, &small, sizeof small_bits);
    }
    small_bits |= (uint32_t)minus << 31;
    bits |= (uint64_t)minus << 63;
    if (dtype == TND_F32)
        memcpy(out, &small_bits, sizeof small_bits);
    else
        memcpy(out, &bits, sizeof bits);
    return true;
}

bool tnd_number_text_reads(tnd_dtype_t dtype)
{
    return dtype != TND_BOOL && dtype != TND_F16 && dtype != TND_BF16;
}

bool tnd_number_text(tnd_dtype_t dtype, const void *text, size_t size, void *out)
{
    text_t trimmed = trim(text, size);
    return tnd_dtype_is_float(dtype) ? read_float(dtype, trimmed, out)
                                     : read_integer(dtype, trimmed, out);
}

bool tnd_bool_text(const void *text, size_t size, bool *out)
{
    static const char *const words[] = {"false", "true", "no",  "yes",   "0",    "1",  "False",
                                        "True",  "No",   "Yes", "FALSE", "TRUE", "NO", "YES"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == size && memcmp(words[i], text, size) == 0) {
            *out = i % 2 == 1;
            return true;
        }
    return false;
}
