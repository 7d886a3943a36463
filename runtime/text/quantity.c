/*  runtime/text/quantity.c - numbers with and without units. */
#include "runtime/text/quantity.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    uint64_t factor;
} unit_t;

static const unit_t byte_units[] = {
    {"B", 1},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000 * 1000},
    {"GB", 1000 * 1000 * 1000},
    {"TB", UINT64_C(1000) * 1000 * 1000 * 1000},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
};

static const unit_t duration_units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000 * 1000},
    {"s", 1000 * 1000 * 1000},
    {"min", UINT64_C(60) * 1000 * 1000 * 1000},
    {"h", UINT64_C(3600) * 1000 * 1000 * 1000},
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/*  Checks the digits before the conversion. */
static tnd_quantity_t check_digits(const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    if (!is_digit(*text))
        return TND_QUANTITY_NOT_A_NUMBER;
    size_t digits = strspn(text, "0123456789");
    if (text[digits] == '_' && strspn(text, "0123456789_") == strlen(text))
        return TND_QUANTITY_GROUPED;
    if (text[0] == '0' && digits > 1)
        return TND_QUANTITY_LEADING_ZERO;
    return TND_QUANTITY_OK;
}

tnd_quantity_t tnd_quantity_u64(const char *text, uint64_t *value_p)
{
    if (*text == '-' && is_digit(text[1]))
        return TND_QUANTITY_NEGATIVE;
    tnd_quantity_t shape = check_digits(text);
    if (shape != TND_QUANTITY_OK)
        return shape;
    if (*text == '+' || text[strspn(text, "0123456789")] != '\0')
        return TND_QUANTITY_NOT_A_NUMBER;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno == ERANGE || value > UINT64_MAX)
        return TND_QUANTITY_TOO_LARGE;
    *value_p = value;
    return TND_QUANTITY_OK;
}

tnd_quantity_t tnd_quantity_i64(const char *text, int64_t *value_p)
{
    tnd_quantity_t shape = check_digits(text);
    if (shape != TND_QUANTITY_OK)
        return shape;
    const char *digits = *text == '-' ? text + 1 : text;
    if (*text == '+' || digits[strspn(digits, "0123456789")] != '\0')
        return TND_QUANTITY_NOT_A_NUMBER;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return TND_QUANTITY_TOO_LARGE;
    *value_p = value;
    return TND_QUANTITY_OK;
}

tnd_quantity_t tnd_quantity_f64(const char *text, double *value_p)
{
    const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
    if (*digits == '.' ? !is_digit(digits[1]) : !is_digit(*digits))
        return TND_QUANTITY_NOT_A_NUMBER;
    if (*digits != '.') {
        tnd_quantity_t shape = check_digits(text);
        if (shape != TND_QUANTITY_OK)
            return shape;
    }
    if (strspn(digits, "0123456789.eE+-") != strlen(digits))
        return TND_QUANTITY_NOT_A_NUMBER;
    /* A program that called setlocale may use a decimal comma; topologies never do. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end = NULL;
    double value = plain != (locale_t)0 ? strtod_l(text, &end, plain) : strtod(text, &end);
    if (plain != (locale_t)0)
        freelocale(plain);
    if (*end != '\0')
        return TND_QUANTITY_NOT_A_NUMBER;
    if (!isfinite(value))
        return TND_QUANTITY_TOO_LARGE;
    *value_p = value;
    return TND_QUANTITY_OK;
}

static tnd_quantity_t with_unit(const char *text, const unit_t *units, size_t count,
                                uint64_t *value_p)
{
    enum { NUMBER_MAX = 31 };
    char number[NUMBER_MAX + 1];
    if (*text == '-' && is_digit(text[1]))
        return TND_QUANTITY_NEGATIVE;
    size_t size = strspn(text, "0123456789.");
    if (text[size] == '_' && is_digit(text[size + 1]))
        return TND_QUANTITY_GROUPED;
    if (size == 0 || size > NUMBER_MAX)
        return TND_QUANTITY_NOT_A_NUMBER;
    memcpy(number, text, size);
    number[size] = '\0';
    const char *unit = text + size;
    while (*unit == ' ')
        unit++;
    uint64_t factor = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(unit, units[i].name) == 0)
            factor = units[i].factor;
    if (*unit == '\0' && strcmp(number, "0") != 0)
        return TND_QUANTITY_NO_UNIT;
    if (factor == 0 && *unit != '\0')
        return strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(unit)
                   ? TND_QUANTITY_WRONG_UNIT
                   : TND_QUANTITY_NOT_A_NUMBER;
    uint64_t whole = 0;
    if (strchr(number, '.') == NULL) {
        tnd_quantity_t outcome = tnd_quantity_u64(number, &whole);
        if (outcome != TND_QUANTITY_OK)
            return outcome;
        if (__builtin_mul_overflow(whole, factor, &whole))
            return TND_QUANTITY_TOO_LARGE;
        *value_p = whole;
        return TND_QUANTITY_OK;
    }
    double value = 0;
    tnd_quantity_t outcome = tnd_quantity_f64(number, &value);
    if (outcome != TND_QUANTITY_OK)
        return outcome;
    value *= (double)factor;
    if (value >= 18446744073709549568.0)
        return TND_QUANTITY_TOO_LARGE;
    *value_p = (uint64_t)value;
    return TND_QUANTITY_OK;
}

tnd_quantity_t tnd_quantity_bytes(const char *text, uint64_t *value_p)
{
    return with_unit(text, byte_units, sizeof byte_units / sizeof byte_units[0], value_p);
}

tnd_quantity_t tnd_quantity_duration(const char *text, uint64_t *value_p)
{
    return with_unit(text, duration_units, sizeof duration_units / sizeof duration_units[0],
                     value_p);
}

tnd_quantity_t tnd_quantity_rows(const char *text, uint64_t *value_p)
{
    static const unit_t units[] = {{"rows", 1}, {"row", 1}};
    return with_unit(text, units, sizeof units / sizeof units[0], value_p);
}

tnd_quantity_t tnd_quantity_steps(const char *text, uint64_t *value_p)
{
    static const unit_t units[] = {{"steps", 1}, {"step", 1}};
    return with_unit(text, units, sizeof units / sizeof units[0], value_p);
}

tnd_quantity_t tnd_quantity_epochs(const char *text, uint64_t *value_p)
{
    static const unit_t units[] = {{"epochs", 1}, {"epoch", 1}};
    return with_unit(text, units, sizeof units / sizeof units[0], value_p);
}

static void print_in(uint64_t value, const unit_t *units, size_t count, FILE *out)
{
    const unit_t *unit = &units[0];
    for (size_t i = 1; i < count && value > 0; i++)
        if (value % units[i].factor == 0 && units[i].factor > unit->factor)
            unit = &units[i];
    fprintf(out, "%llu%s", (unsigned long long)(value / unit->factor), unit->name);
}

void tnd_quantity_print_bytes(uint64_t value, FILE *out)
{
    print_in(value, byte_units, sizeof byte_units / sizeof byte_units[0], out);
}

void tnd_quantity_print_duration(uint64_t value, FILE *out)
{
    print_in(value, duration_units, sizeof duration_units / sizeof duration_units[0], out);
}

const char *tnd_quantity_size(uint64_t bytes, char text[TND_QUANTITY_SIZE])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(text, TND_QUANTITY_SIZE, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
        return text;
    }
    /* 1023.95 would be shown as 1024.0. */
    for (; value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    bool whole = value == (double)(uint64_t)value;
    snprintf(text, TND_QUANTITY_SIZE, "%.*f %s", whole ? 0 : 1, value, units[unit]);
    return text;
}

const char *tnd_quantity_number(double value, int digits, char text[TND_QUANTITY_NUMBER])
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    do
        snprintf(text, TND_QUANTITY_NUMBER, "%.*g", digits, value);
    while (digits++ < 17 && strtod(text, NULL) != value);
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
    return text;
}
