/*
 * exchange.h - what kb_ranks asks for, by MPI.
 *
 * MPI counts in 32 bits, so what is longer goes in rounds.
 */
#ifndef CLI_EXCHANGE_H
#define CLI_EXCHANGE_H

#include "kerbin.h"

#include <mpi.h>

/* The functions over a communicator, which must stay where it is. */
kb_ranks exchange_by(MPI_Comm *comm);

#endif
