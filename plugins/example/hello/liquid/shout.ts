/** A Liquid filter: it runs in a thread of its own. */
export const shout = (text: unknown): string => `${String(text).toUpperCase()}!`;
