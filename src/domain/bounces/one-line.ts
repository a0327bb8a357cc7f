/** Texts of other systems for the logs. */
import { DESCRIPTION_LENGTH_KEPT } from '../tracking/delivery-report.ts';

/** One line without characters that trouble a database or a terminal; of a long one the beginning. */
export function oneLine(text: string): string {
  return text
    .slice(0, DESCRIPTION_LENGTH_KEPT * 4)
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, DESCRIPTION_LENGTH_KEPT)
    .toWellFormed();
}
