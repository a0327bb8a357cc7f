/** Web views: a page of ours with the message in a frame. */

/** The address of the page's frame. */
export function frameAddress(page: string, url: string): string {
  return String(new URL(/ src="([^"]+)"/.exec(page)?.[1] ?? '', url));
}

/** The html that the frame shows. */
export async function framedMessage(url: string): Promise<string> {
  const page = await (await fetch(url)).text();
  return (await fetch(frameAddress(page, url))).text();
}
