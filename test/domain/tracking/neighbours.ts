/** What a token turns into when somebody tries it: another letter in one place, something behind it, an end cut off. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';

export function* neighboursOf(token: string): Generator<string> {
  for (let at = 0; at < token.length; at++)
    for (const letter of ALPHABET) if (letter !== token[at]) yield token.slice(0, at) + letter + token.slice(at + 1);
  for (const tail of ['=', 'A', '.', ' ', '\n', '%00']) yield token + tail;
  for (let cut = 1; cut < token.length; cut++) yield token.slice(0, -cut);
}
