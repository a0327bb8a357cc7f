/** The icon of the product's pages. */
import type { Mount } from './http-server.ts';
import { sendNotFound } from './own-page.ts';

/** An envelope, 32 by 32. */
const ICON = Buffer.from(
  'AAABAAEAICAAAAEAIAC2AAAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAH1JREFUeNpjYBgFo2AU' +
    'QIG8/43/9MQDajmGIwaNA0CAHhbD7MHqABiglcXI5mONAnRAbYuRzcSbBqjlCHzmEJUIyXUIMfqIzgWkOoJY9SRnQ0IGk+pQ' +
    'ssoBbAmK3IRLUUGEDQxISUhJLhmtC0YdMOqAweOAAW8TjoJRMJAAAAgn6aAU1n13AAAAAElFTkSuQmCC',
  'base64',
);
/** Browsers ask for it with every first page. */
const ICON_SECONDS = 86_400;

/** The icon that browsers show beside the title of a page. */
export const iconMount: Mount = {
  prefix: '/favicon.ico',
  exact: true,
  handle(req, res) {
    if (req.method !== 'GET' && req.method !== 'HEAD') return sendNotFound(req, res);
    res.writeHead(200, {
      'Content-Type': 'image/x-icon',
      'Content-Length': ICON.length,
      'Cache-Control': `public, max-age=${ICON_SECONDS}`,
    });
    res.end(ICON);
  },
};
