/*
 * level.h - names for the files that are compiled once for each level of CPU.
 *
 * KB_SIMD_LEVEL is the name of the level (plain, avx2, avx512), and KB_OF_LEVEL(kb_bin_loops) the
 * name of that level's table.
 */
#ifndef KB_SIMD_LEVEL_H
#define KB_SIMD_LEVEL_H

#define KB_JOIN(name, level)   name##_##level
#define KB_JOINED(name, level) KB_JOIN(name, level)
#define KB_OF_LEVEL(name)      KB_JOINED(name, KB_SIMD_LEVEL)

#define INLINE static inline __attribute__((always_inline))

#endif
