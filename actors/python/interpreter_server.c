/*  actors/python/interpreter_server.c - the process that has imported a module. */
#include "actors/python/interpreter_server.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/thread.h"

struct tnd_interpreter_server {
    tnd_interpreter_server_t *next;
    char *program, *directory, *name, *setup;
    uint32_t users;
    pthread_mutex_t lock; /* of what follows */
    bool tried;
    tnd_interpreter_terms_t terms;
    tnd_interpreter_t *process; /* NULL: copies cannot be made */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, and of `users` */
static tnd_interpreter_server_t *servers;

/*  Whether the server imports what an interpreter with these terms does. */
static bool serves(const tnd_interpreter_server_t *self, const tnd_interpreter_terms_t *terms)
{
    size_t module = strcspn(self->name, ":");
    return strcmp(self->program, terms->program) == 0 &&
           strcmp(self->directory, terms->directory) == 0 &&
           strncmp(self->name, terms->name, module + 1) == 0;
}

static void ignore(void *context)
{
    (void)context;
}

static tnd_interpreter_server_t *add(const tnd_interpreter_terms_t *terms)
{
    tnd_interpreter_server_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->program = tnd_copy_string(terms->program);
    self->directory = tnd_copy_string(terms->directory);
    self->name = tnd_copy_string(terms->name);
    self->setup = tnd_copy_string(terms->setup);
    self->terms = (tnd_interpreter_terms_t){.program = self->program,
                                            .directory = self->directory,
                                            .name = self->name,
                                            .setup = self->setup,
                                            .serves = true,
                                            .limit_ns = terms->start_ns / 2,
                                            .start_ns = terms->start_ns / 2,
                                            .renew = ignore};
    pthread_mutex_init(&self->lock, NULL);
    self->next = servers;
    servers = self;
    return self;
}

tnd_interpreter_server_t *tnd_interpreter_server_use(tnd_interpreter_terms_t *terms)
{
    tnd_error_t unused;
    pthread_mutex_lock(&lock);
    tnd_interpreter_server_t *self = servers;
    while (self != NULL && !serves(self, terms))
        self = self->next;
    if (self == NULL)
        self = add(terms);
    self->users++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&self->lock);
    /* What fails here fails again where the module is imported by itself, which reports it. */
    if (!self->tried && tnd_interpreter_open(&self->process, &self->terms, &unused) != TND_OK)
        self->process = NULL;
    self->tried = true;
    terms->server = self->process;
    pthread_mutex_unlock(&self->lock);
    terms->renew(terms->context);
    return self;
}

static void end(tnd_interpreter_server_t *self)
{
    tnd_interpreter_close(&self->process);
    pthread_mutex_destroy(&self->lock);
    free(self->program);
    free(self->directory);
    free(self->name);
    free(self->setup);
    free(self);
}

void tnd_interpreter_server_leave(tnd_interpreter_server_t **self_p)
{
    tnd_interpreter_server_t *self = *self_p, **link = &servers;
    *self_p = NULL;
    if (self == NULL)
        return;
    pthread_mutex_lock(&lock);
    bool last = --self->users == 0;
    while (last && *link != self)
        link = &(*link)->next;
    if (last)
        *link = self->next;
    pthread_mutex_unlock(&lock);
    if (last)
        end(self);
}
