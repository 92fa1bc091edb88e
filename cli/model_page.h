/*
 * model_page.h - kerbin report MODEL TEST: one page for one model.
 */
#ifndef CLI_MODEL_PAGE_H
#define CLI_MODEL_PAGE_H

#include "session.h"

kb_status model_page_make(session *s, const char *model, const char *test, const char *path);

#endif
