/**
 * `text` without the trailing characters that `dropped` matches one by one. A pattern such as `/[.,]+$/` would start again at
 * every dot of a text of dots, which takes quadratic time.
 */
export function withoutTrailing(text: string, dropped: RegExp): string {
  let length = text.length;
  while (length > 0 && dropped.test(text.charAt(length - 1))) length -= 1;
  return text.slice(0, length);
}
