/*  Covers the JSON of tools/report/verdict.h: each member with its unit, exactly. */
#include "tools/report/verdict.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/protocol/effect.h"

static const char *json_of(const tnd_verdict_t *verdict)
{
    static char *text;
    static size_t size;
    free(text);
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_verdict_json(verdict, true, out);
    fclose(out);
    return text;
}

/*  A fault of 1,500 ms, a hop of 2,250 ms. */
Test(verdict, every_member_as_json)
{
    tnd_verdict_t verdict = {
        .run = "mnist",
        .state = TND_RUN_SLOW,
        .flows = true,
        .rows_per_second = 1234.56,
        .sentence = "mnist flows",
        .actor = "prep.0",
        .host = "b",
        .device = "sim:1",
        .process = 77,
        .limit = {.bound = TND_BOUND_WORK,
                  .actor = "prep.0",
                  .host = "b",
                  .process = 77,
                  .share = 0.91284,
                  .gain = 2000.25,
                  .advice = "2 workers of prep"},
        .hops = {{.actor = "feed@a",
                  .host = "a",
                  .waits = TND_WAIT_INPUT,
                  .since_ns = UINT64_C(2250000000)}},
        .hop_count = 1,
    };
    const tnd_fault_t fault = {.cause = TND_CAUSE_HANGS,
                               .actor = "read.0",
                               .host = "a",
                               .process = 78,
                               .thread = 79,
                               .since_ns = UINT64_C(1500000000),
                               .text = "read.0 hangs",
                               .evidence = "in read",
                               .details = "one\ntwo\n",
                               .action = "look at the disk"};
    tnd_verdict_add(&verdict, &fault);
    cr_assert_str_eq(
        json_of(&verdict),
        "{\"run\":\"mnist\",\"code\":10,\"flows\":true,\"rows_per_second\":1234.6,"
        "\"sentence\":\"mnist flows\",\"actor\":\"prep.0\",\"host\":\"b\",\"device\":\"sim:1\","
        "\"pid\":77,\"limit\":{\"reason\":\"work\",\"actor\":\"prep.0\",\"host\":\"b\","
        "\"device\":null,\"pid\":77,\"share\":0.9128,\"advice\":\"2 workers of prep\","
        "\"gain_rows_per_second\":2000.2},\"faults\":[{\"reason\":\"hangs\",\"actor\":\"read.0\","
        "\"host\":\"a\",\"device\":null,\"pid\":78,\"thread\":79,\"since_seconds\":1.500,"
        "\"suffered\":false,\"text\":\"read.0 hangs\",\"evidence\":\"in read\",\"action\":\"look "
        "at the "
        "disk\",\"details\":[\"one\",\"two\"]}],"
        "\"chain\":[{\"actor\":\"feed@a\",\"host\":\"a\",\"waits\":[\"input\"],"
        "\"since_seconds\":2.250}]");
}

Test(verdict, what_is_not_known_is_null)
{
    const tnd_verdict_t verdict = {.run = "r", .state = TND_RUN_STALLED, .sentence = "r stalls"};
    cr_assert_str_eq(json_of(&verdict),
                     "{\"run\":\"r\",\"code\":11,\"flows\":false,\"rows_per_second\":0.0,"
                     "\"sentence\":\"r stalls\",\"actor\":null,\"host\":null,\"device\":null,"
                     "\"pid\":null,\"limit\":null,\"faults\":[],\"chain\":[]");
}
