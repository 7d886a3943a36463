/*  tools/rows/contact_sheet.h - writes the pictures of some steps to one file, in rows.
 *
 *  Pictures are added step by step; the file is completed at the end, or not written at all.
 *
 *  The first column of pictures is shown: rows of height x width, or of height x width x 1, 3 or 4
 *  (a fourth channel is ignored).  u8 is shown unchanged; true is white; floats between 0 and 1 are
 *  multiplied by 255; other values are scaled from the minimum (black) to the maximum (white) of
 *  the sheet.  Small pictures are magnified.  The label below each picture is the row's value of
 *  the first column of whole numbers, if there is one.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_ROWS_CONTACT_SHEET_H
#define TND_TOOLS_ROWS_CONTACT_SHEET_H

#include "tools/rows/capture.h"

enum {
    TND_CONTACT_SHEET_GAP = 2,   /* pixels around each picture */
    TND_CONTACT_SHEET_WISH = 56, /* the least size of a picture's longer side after magnification */
    TND_CONTACT_SHEET_LABEL = 9, /* height of the label */
    TND_CONTACT_SHEET_MOST = 4096
};

typedef struct {
    const char *path;
    tnd_schema_t schema;
    int picture, label; /* columns; label -1: none */
    uint64_t rows, seen;
    uint8_t *pictures; /* `rows` rows of the column, packed */
    double *labels;
} tnd_contact_sheet_t;

/*  Whether the rows of a column can be shown as pictures. */
bool tnd_contact_sheet_shows(const tnd_column_t *column);

/*  Errors: TND_FAILED if there are no pictures; the text lists the columns. */
tnd_status_t tnd_contact_sheet_begin(tnd_contact_sheet_t *self, const char *path,
                                     const tnd_schema_t *schema, tnd_error_t *error) TND_CHECKED;
/*  Copies the rows of a step, up to TND_CONTACT_SHEET_MOST pictures per sheet. */
void tnd_contact_sheet_add(tnd_contact_sheet_t *self, const tnd_capture_t *capture);
/*  Writes the file.  Errors: TND_FAILED if it cannot be written or there are no rows. */
tnd_status_t tnd_contact_sheet_end(tnd_contact_sheet_t *self, tnd_error_t *error) TND_CHECKED;
/*  Discards the sheet. */
void tnd_contact_sheet_abandon(tnd_contact_sheet_t *self);

#endif
