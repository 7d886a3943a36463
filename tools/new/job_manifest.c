/*  tools/new/job_manifest.c - the manifest of an Indexed Job of Kubernetes. */
#include "tools/new/job_manifest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/cli/json.h"

void tnd_job_manifest_name(tnd_job_manifest_t *self, const char *run)
{
    size_t used = 0;
    for (; *run != '\0' && used < sizeof self->name - 1; run++) {
        bool plain = isascii((unsigned char)*run) && isalnum((unsigned char)*run);
        if (plain)
            self->name[used++] = (char)tolower((unsigned char)*run);
        else if (used > 0 && self->name[used - 1] != '-')
            self->name[used++] = '-';
    }
    while (used > 0 && self->name[used - 1] == '-')
        used--;
    self->name[used] = '\0';
    if (used == 0 || isdigit((unsigned char)self->name[0])) /* also a name of a Service */
        snprintf(self->name, sizeof self->name, "tundish");
}

/*  The key of a file, which the caller frees. */
static char *key_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *key = tnd_copy_string(slash != NULL ? slash + 1 : path);
    for (char *at = key; *at != '\0'; at++)
        if (!isascii((unsigned char)*at) ||
            (!isalnum((unsigned char)*at) && strchr("-_.", *at) == NULL))
            *at = '-';
    return key;
}

tnd_status_t tnd_job_manifest_check(const tnd_sent_run_t *files, tnd_error_t *error)
{
    size_t bytes = 0;
    tnd_status_t status = TND_OK;
    for (size_t i = 0; i < files->file_count && status == TND_OK; i++) {
        char *key = key_of(files->names[i]);
        bytes += strlen(key) + files->sizes[i];
        if (strncmp(key, "..", 2) == 0)
            status =
                tnd_fail(error, "%s: a ConfigMap takes no name that begins with `..`: rename it",
                         files->names[i]);
        for (size_t before = 0; before < i && status == TND_OK; before++) {
            char *other = key_of(files->names[before]);
            if (strcmp(key, other) == 0)
                status = tnd_fail(error, "%s and %s have the same name in the pods, %s: rename one",
                                  files->names[before], files->names[i], key);
            free(other);
        }
        free(key);
    }
    if (status == TND_OK && bytes > TND_JOB_FILES_BYTES)
        return tnd_fail(error, "the files have %zu bytes, and a ConfigMap takes at most 1 MiB",
                        bytes);
    return status;
}

/*  Whether a text can be a literal block, with one newline at its end. */
static bool is_block(const char *text, size_t size)
{
    if (size < 2 || text[size - 1] != '\n' || text[size - 2] == '\n' || strchr(" \n", *text))
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\n' && ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~'))
            return false;
    return true;
}

static void print_file(const char *text, size_t size, FILE *out)
{
    if (!is_block(text, size)) {
        char *whole = tnd_format_string("%.*s", (int)size, text);
        fputc(' ', out);
        tnd_json_text(out, whole);
        fputc('\n', out);
        free(whole);
        return;
    }
    fputs(" |\n", out);
    for (const char *at = text; at < text + size;) {
        size_t length = (size_t)((const char *)memchr(at, '\n', (size_t)(text + size - at)) - at);
        fprintf(out, "%s%.*s\n", length > 0 ? "    " : "", (int)length, at);
        at += length + 1;
    }
}

static void print_files(const tnd_job_manifest_t *self, const tnd_sent_run_t *files, FILE *out)
{
    fprintf(out,
            "apiVersion: v1\n"
            "kind: ConfigMap\n"
            "metadata: {name: %s-files}\n"
            "data:\n",
            self->name);
    for (size_t i = 0; i < files->file_count; i++) {
        char *key = key_of(files->names[i]);
        fprintf(out, "  \"%s\":", key);
        print_file(files->texts[i], files->sizes[i], out);
        free(key);
    }
}

static void print_service(const tnd_job_manifest_t *self, FILE *out)
{
    fprintf(out,
            "---\n"
            "# The pods have names by it, before they are ready: %s-0.%s is the leader.\n"
            "apiVersion: v1\n"
            "kind: Service\n"
            "metadata: {name: \"%s\"}\n" /* \"yes\" is a text only in quotes */
            "spec:\n"
            "  clusterIP: None\n"
            "  publishNotReadyAddresses: true\n"
            "  selector: {job-name: \"%s\"}\n",
            self->name, self->name, self->name, self->name);
}

static void print_container(const tnd_job_manifest_t *self, const tnd_sent_run_t *files, FILE *out)
{
    fputs("          command: [tundish, run", out); /* exec form: signals reach it */
    for (size_t i = 0; i < files->file_count; i++) {
        char *key = key_of(files->names[i]);
        fprintf(out, ", \"/files/%s\"", key);
        free(key);
    }
    fprintf(out,
            ", --data, /data%s]  # comes before `data:` of the files\n"
            "          env:\n"
            "            - {name: TUNDISH_HOSTS, value: \"%" PRIu32 "\"}  # as `completions`\n"
            "            - {name: TUNDISH_LEADER, value: %s-0.%s}\n"
            "          volumeMounts:\n"
            "            - {name: files, mountPath: /files, readOnly: true}\n"
            "            - {name: data, mountPath: /data}\n"
            "            - {name: shared-memory, mountPath: /dev/shm}\n",
            self->resumes ? ", --resume" : "", self->pods, self->name, self->name);
}

static void print_job(const tnd_job_manifest_t *self, const tnd_sent_run_t *files, FILE *out)
{
    fprintf(out,
            "---\n"
            "apiVersion: batch/v1\n"
            "kind: Job\n"
            "metadata: {name: \"%s\"}\n"
            "spec:\n"
            "  completionMode: Indexed\n"
            "  completions: %" PRIu32 "\n"
            "  parallelism: %" PRIu32 "\n"
            "  backoffLimit: 10\n"
            "  podFailurePolicy:\n"
            "    rules:\n"
            "      # A wrong command line or topology is wrong the next time, too.\n"
            "      - action: FailJob\n"
            "        onExitCodes: {containerName: tundish, operator: In, values: [2, 78]}\n"
            "      # Another pod was lost: this one meets the others again.\n"
            "      - action: Ignore\n"
            "        onExitCodes: {containerName: tundish, operator: In, values: [75]}\n"
            "      - action: Ignore\n"
            "        onPodConditions: [{type: DisruptionTarget}]\n"
            "  template:\n"
            "    spec:\n"
            "      subdomain: \"%s\"\n"
            "      restartPolicy: Never\n"
            "      terminationGracePeriodSeconds: 120  # for a drain and its checkpoint\n"
            "      securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, "
            "fsGroup: 1000}\n"
            "      containers:\n"
            "        - name: tundish\n"
            "          image: tundish  # of examples/launch/Containerfile\n",
            self->name, self->pods, self->pods, self->name);
    print_container(self, files, out);
    fprintf(out,
            "      volumes:\n"
            "        - {name: files, configMap: {name: %s-files}}\n"
            "        - {name: data, persistentVolumeClaim: {claimName: data}}\n"
            "        - {name: shared-memory, emptyDir: {medium: Memory}}\n",
            self->name);
}

void tnd_job_manifest_print(const tnd_job_manifest_t *self, const tnd_sent_run_t *files, FILE *out)
{
    print_files(self, files, out);
    print_service(self, out);
    print_job(self, files, out);
}
