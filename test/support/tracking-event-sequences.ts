/**
 * Fixtures of how mails are visited: sequences as scanners and as people make them, each with its times since the
 * delivery. Scanners are modelled on what gateways are known to do; about half of them pass for a browser. Seeded, so
 * that every run plays the same ones.
 */
export interface TrackingEvent {
  /** Milliseconds after the message was handed over. */
  readonly at: number;
  /** A link's number; null: the pixel. */
  readonly link: number | null;
  readonly method: 'GET' | 'HEAD';
  readonly userAgent: string;
  readonly purpose?: string;
  readonly ip?: string;
}

export interface TrackingEventSequence {
  readonly kind: string;
  readonly trackingEvents: readonly TrackingEvent[];
}

export const LINKS = 6;

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 Telegram-Android/10.9',
];
const IMAGE_PROXIES = [
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
];

/** A generator of numbers in [0, 1) that is the same every time (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** `count` sequences of scanners, their kinds in turn. */
export function scannerSequences(count: number, random: () => number): TrackingEventSequence[] {
  const between = (low: number, high: number) => low + random() * (high - low);
  const browser = () => BROWSERS[Math.floor(random() * BROWSERS.length)] ?? '';
  const everyLink = (from: number, step: () => number, more: Omit<TrackingEvent, 'at' | 'link'>): TrackingEvent[] => {
    let at = from;
    return Array.from({ length: LINKS }, (_, link) => ({ at: (at += step()), link, ...more }));
  };
  const kinds: readonly (() => TrackingEventSequence)[] = [
    () => ({
      kind: 'gateway by name',
      trackingEvents: everyLink(between(200, 60_000), () => between(5, 3_000), {
        method: 'GET',
        userAgent: 'BarracudaCentral/1.0',
      }),
    }),
    () => ({
      kind: 'browser disguise, all links at once, before the inbox',
      trackingEvents: everyLink(between(50, 900), () => between(1, 40), { method: 'GET', userAgent: browser() }),
    }),
    () => ({
      kind: 'browser disguise, all links at once, minutes later',
      trackingEvents: everyLink(between(60_000, 900_000), () => between(1, 120), {
        method: 'GET',
        userAgent: browser(),
      }),
    }),
    () => ({
      kind: 'browser disguise, one link after another',
      trackingEvents: everyLink(between(5_000, 300_000), () => between(300, 950), {
        method: 'GET',
        userAgent: browser(),
      }),
    }),
    () => ({
      kind: 'HEAD of every link',
      trackingEvents: everyLink(between(500, 60_000), () => between(5, 4_000), {
        method: 'HEAD',
        userAgent: browser(),
      }),
    }),
    () => ({
      kind: "from a gateway's network",
      trackingEvents: everyLink(between(1_000, 600_000), () => between(900, 9_000), {
        method: 'GET',
        userAgent: browser(),
        ip: '40.107.22.10',
      }),
    }),
    () => ({
      kind: 'one link at the second of delivery',
      trackingEvents: [{ at: between(100, 2_800), link: 0, method: 'GET', userAgent: browser() }],
    }),
    () => ({
      kind: 'privacy proxy',
      trackingEvents: [{ at: between(2_000, 3_600_000), link: null, method: 'GET', userAgent: 'Mozilla/5.0' }],
    }),
    () => ({
      kind: 'prefetch',
      trackingEvents: [
        {
          at: between(3_000, 60_000),
          link: 0,
          method: 'GET',
          userAgent: browser(),
          purpose: 'prefetch;anonymous-client-ip',
        },
      ],
    }),
    () => ({
      kind: 'library',
      trackingEvents: everyLink(between(4_000, 60_000), () => between(1_500, 9_000), {
        method: 'GET',
        userAgent: 'python-requests/2.32.3',
      }),
    }),
  ];
  return Array.from({ length: count }, (_, n) => {
    const kind = kinds[n % kinds.length];
    if (!kind) throw new Error('There is no such kind.');
    return kind();
  });
}

/** `count` sequences of people: an open or none, then up to four clicks at the pace of hands and eyes. */
export function humanSequences(count: number, random: () => number): TrackingEventSequence[] {
  const between = (low: number, high: number) => low + random() * (high - low);
  return Array.from({ length: count }, (_, n): TrackingEventSequence => {
    const userAgent = BROWSERS[n % BROWSERS.length] ?? '';
    const clicks = Math.floor(random() * 5);
    // A mail program that was open shows a new message after some seconds; most people come within hours.
    let at = random() < 0.1 ? between(1_500, 10_000) : between(10_000, 6 * 3_600_000);
    const trackingEvents: TrackingEvent[] = [];
    const isProxied = random() < 0.4;
    const opener = isProxied ? (IMAGE_PROXIES[n % IMAGE_PROXIES.length] ?? '') : userAgent;
    if (random() < 0.8 || clicks === 0) trackingEvents.push({ at, link: null, method: 'GET', userAgent: opener });
    for (let click = 0; click < clicks; click++) {
      // Impatience: now and then a double click on the same link, or two tabs opened one right after the other.
      const mood = random();
      const previous = trackingEvents.at(-1);
      if (mood < 0.08 && previous && previous.link !== null)
        trackingEvents.push({ ...previous, at: at + between(80, 400) });
      else if (mood < 0.12)
        trackingEvents.push({ at: (at += between(600, 1_400)), link: click % LINKS, method: 'GET', userAgent });
      else
        trackingEvents.push({
          at: (at += between(2_500, 60_000)),
          link: Math.floor(random() * LINKS),
          method: 'GET',
          userAgent,
        });
    }
    return { kind: 'person', trackingEvents };
  });
}
