/*  tools/top/painter.c - shows a screen in a terminal, by ncursesw. */
#include "tools/top/painter.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ncurses.h>

#include "runtime/base/allocation.h"
#include "tools/top/view.h"

struct tnd_painter {
    SCREEN *terminal;
    bool colour;
};

static volatile sig_atomic_t ended;

static const int ends[] = {SIGTERM, SIGHUP, SIGINT};
static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

enum { ENDS = sizeof ends / sizeof ends[0], CRASHES = sizeof crashes / sizeof crashes[0] };

static void note_end(int number)
{
    ended = number;
}

/*  The process dies of the signal once the handler returns, which SA_RESETHAND has removed. */
static void restore_and_die(int number)
{
    (void)endwin();
    (void)raise(number);
}

static void handle(const int *signals, size_t count, void (*handler)(int), int flags)
{
    for (size_t i = 0; i < count; i++) {
        struct sigaction action = {.sa_flags = flags};
        action.sa_handler = handler;
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
}

static void begin_colours(tnd_painter_t *self)
{
    /* The blue of most terminals is hard to read on black.  Number 33 of 256 colours has a contrast of
     * 5.9 : 1 on black and 3.6 : 1 on white. */
    static const short colours[TND_INKS] = {
        [TND_INK_BUSY] = COLOR_RED,
        [TND_INK_IDLE] = COLOR_CYAN,
        [TND_INK_READY] = COLOR_YELLOW,
        [TND_INK_FAULT] = COLOR_MAGENTA,
    };
    static const short blue = 33;
    self->colour = self->colour && has_colors();
    if (!self->colour)
        return;
    start_color();
    use_default_colors();
    for (int ink = 0; ink < TND_INKS; ink++)
        init_pair((short)(ink + 1), colours[ink] != 0 ? colours[ink] : -1, -1);
    if (COLORS >= 256)
        init_pair(TND_INK_IDLE + 1, blue, -1);
}

tnd_painter_t *tnd_painter_open(bool colour)
{
    setlocale(LC_CTYPE, "");
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (terminal == NULL)
        return NULL;
    if (tigetstr("cup") == NULL || tigetstr("cup") == (char *)-1) {
        endwin();
        delscreen(terminal);
        return NULL;
    }
    tnd_painter_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->terminal = terminal;
    self->colour = colour;
    ended = 0;
    handle(ends, ENDS, note_end, 0);
    handle(crashes, CRASHES, restore_and_die, SA_RESETHAND | SA_NODEFER);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    begin_colours(self);
    return self;
}

void tnd_painter_size(const tnd_painter_t *self, unsigned *rows_p, unsigned *columns_p)
{
    int rows, columns;
    (void)self;
    getmaxyx(stdscr, rows, columns);
    *rows_p = rows > 0 ? (unsigned)rows : 1;
    *columns_p = columns > 0 ? (unsigned)columns : 1;
}

static attr_t attributes_of(const tnd_painter_t *self, unsigned ink)
{
    static const attr_t attributes[TND_INKS] = {
        [TND_INK_BOLD] = A_BOLD,
        [TND_INK_BLOCKED] = A_DIM,
        [TND_INK_FAULT] = A_BOLD,
        [TND_INK_SELECTED] = A_REVERSE,
    };
    return attributes[ink] | (self->colour ? COLOR_PAIR(ink + 1) : 0);
}

void tnd_painter_show(tnd_painter_t *self, const tnd_screen_t *screen)
{
    erase();
    for (unsigned row = 0; row < screen->rows; row++) {
        const tnd_cell_t *cells = screen->cells + (size_t)row * screen->columns;
        for (unsigned column = 0; column < screen->columns; column++) {
            if (cells[column].character == 0)
                continue;
            wchar_t text[2] = {(wchar_t)cells[column].character, L'\0'};
            attr_t attributes = attributes_of(self, cells[column].ink);
            cchar_t cell;
            setcchar(&cell, text, attributes, (short)PAIR_NUMBER(attributes), NULL);
            mvadd_wch((int)row, (int)column, &cell);
        }
    }
    refresh();
}

static uint32_t key_of(int status, wint_t key)
{
    static const struct {
        wint_t from;
        uint32_t to;
    } special[] = {{KEY_UP, TND_KEY_UP},
                   {KEY_DOWN, TND_KEY_DOWN},
                   {KEY_PPAGE, TND_KEY_PAGE_UP},
                   {KEY_NPAGE, TND_KEY_PAGE_DOWN},
                   {KEY_HOME, TND_KEY_HOME},
                   {KEY_END, TND_KEY_END},
                   {KEY_ENTER, TND_KEY_ENTER},
                   {KEY_BACKSPACE, TND_KEY_BACKSPACE},
                   {KEY_RESIZE, TND_PAINTER_RESIZED}};
    if (status == KEY_CODE_YES) {
        for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
            if (special[i].from == key)
                return special[i].to;
        return TND_PAINTER_NONE;
    }
    switch (key) {
    case '\r':
    case '\n':
        return TND_KEY_ENTER;
    case '\t':
        return TND_KEY_TAB;
    case '\033':
        return TND_KEY_ESCAPE;
    case 127:
    case '\b':
        return TND_KEY_BACKSPACE;
    default:
        return (uint32_t)key;
    }
}

uint32_t tnd_painter_key(tnd_painter_t *self, uint64_t wait_ns)
{
    wint_t key;
    (void)self;
    int status = get_wch(&key);
    if (status == ERR && ended == 0) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        int ready = poll(&input, 1, (int)((wait_ns + 999999) / 1000000));
        if (ready > 0 && (input.revents & POLLIN) == 0)
            return TND_PAINTER_ENDED;
        /* A resize interrupts poll, and is then read like a key. */
        status = get_wch(&key);
    }
    if (ended != 0)
        return TND_PAINTER_ENDED;
    return status == ERR ? TND_PAINTER_NONE : key_of(status, key);
}

int tnd_painter_close(tnd_painter_t **self_p)
{
    tnd_painter_t *self = *self_p;
    *self_p = NULL;
    endwin();
    handle(ends, ENDS, SIG_DFL, 0);
    handle(crashes, CRASHES, SIG_DFL, 0);
    delscreen(self->terminal);
    free(self);
    return ended;
}
