/**
 * Sizes, casts and duplicates of the code today. These figures may only fall: if a change would raise one, find another
 * way; if it lowers one by more than a tenth, write the lower figure here.
 */
export const ratchets: Readonly<Record<string, number>> = {
  'lines of the longest file': 379,
  'lines of half of the files, at most': 63,
  'lines of nine in ten files, at most': 158,
  'lines of the longest function': 70,
  'lines of nine in ten functions, at most': 18,
  // Other than `as const`.
  casts: 9,
  // Pairs of places that share six or more lines in a row.
  'duplicates in the product': 8,
  'duplicates in tests': 35,
  'duplicates in benches': 11,
  'duplicates in scripts': 0,
};
