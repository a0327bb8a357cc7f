/** Mail read by a well-known parser, with line ends and the final line end made equal. */
import PostalMime from 'postal-mime';

export async function parseEmail(content: Uint8Array) {
  const email = await PostalMime.parse(content);
  return { ...email, html: settled(email.html), text: settled(email.text) };
}

export function settled(text: string | undefined): string {
  return (text ?? '').replace(/\r\n?/g, '\n').replace(/\n+$/, '');
}
