/*  tools/rows/contact_sheet.h - a contact sheet: the pictures of some steps beside each other in
 * one file.
 *
 *  Pictures are added step by step; the file takes its place whole at the end, or not at all.
 *
 *      The first column of pictures is shown: rows of height x width, or of height x width x 1, 3
 *  or 4 (a fourth channel is left out).  u8 is shown as it is; true as white; floats between 0 and
 * 1 times 255; all else from the least (black) to the greatest value (white) on the sheet.  Small
 *  pictures are magnified: each pixel becomes a square.  Below each stands the row's value of the
 *  first column of whole numbers, its label, where there is one.
 *
 *  Threads: one.
 */
#ifndef TUNDISH_TOOLS_SHEET_H
#define TUNDISH_TOOLS_SHEET_H

#include "tools/rows/capture.h"

enum {
    TND_CONTACT_SHEET_GAP = 2,   /* pixels around each picture */
    TND_CONTACT_SHEET_WISH = 56, /* a picture's longer side is magnified to at least that */
    TND_CONTACT_SHEET_LABEL = 9, /* pixels of a line with a label */
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

/*  Whether rows of a column can be shown as pictures. */
bool tnd_contact_sheet_shows(const tnd_column_t *column);

/*  TND_FAILED: there is no column of pictures; the text says which there are. */
tnd_status_t tnd_contact_sheet_begin(tnd_contact_sheet_t *self, const char *path,
                                     const tnd_schema_t *schema, tnd_error_t *error) TND_CHECKED;
/*  Keeps the rows of a step, up to TND_CONTACT_SHEET_MOST pictures on a sheet. */
void tnd_contact_sheet_add(tnd_contact_sheet_t *self, const tnd_capture_t *capture);
/*  Writes the file.  TND_FAILED: it cannot be written, or there is no row. */
tnd_status_t tnd_contact_sheet_end(tnd_contact_sheet_t *self, tnd_error_t *error) TND_CHECKED;
/*  Writes nothing. */
void tnd_contact_sheet_abandon(tnd_contact_sheet_t *self);

#endif
