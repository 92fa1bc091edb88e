/* fcntl.h - see unistd.h. */
#include <unistd.h>
