/** Looking for a text within a column, in any case. */

/** For Prisma, in which `%` and `_` are patterns. */
export function containing(text: string) {
  return { contains: text.replace(/[\\%_]/g, String.raw`\$&`), mode: 'insensitive' } as const;
}
