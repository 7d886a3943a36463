/*  runtime/option/option_errors.h - a value that an option does not take: what is wrong, and what
 * was most likely meant.
 *
 *  Each reports an error and marks the field as failed.
 *
 *  Threads: the one that reads.
 */
#ifndef TND_RUNTIME_OPTION_OPTION_ERRORS_H
#define TND_RUNTIME_OPTION_OPTION_ERRORS_H

#include "runtime/option/field.h"
#include "runtime/text/quantity.h"

/*  It is a list, a map or a word where something else is expected. */
void tnd_option_error_type(tnd_field_t *field, const tnd_value_t *value);

/*  A number or `true` that was written as a text. */
void tnd_option_error_quoted(tnd_field_t *field, const tnd_value_t *value);

/*  It could not be read as a number: `outcome`, which is not TND_QUANTITY_OK, says why. */
void tnd_option_error_number(tnd_field_t *field, const tnd_value_t *value, tnd_quantity_t outcome);

/*  A path with a variable that this language does not have. */
void tnd_option_error_variable(tnd_field_t *field, const tnd_value_t *value);

#endif
