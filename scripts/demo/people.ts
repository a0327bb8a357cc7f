/** A file of invented people, like a real export: names in many scripts, and a few broken lines. */
import { seededRandom, type Random } from './random.ts';

export interface PeopleFile {
  readonly csv: string;
  readonly people: number;
  readonly brokenLines: number;
}

/** A name in its own script, and in Latin letters for an address. */
type Name = readonly [name: string, latin: string];

interface Names {
  readonly first: readonly Name[];
  readonly last: readonly Name[];
  readonly cities: readonly string[];
}

const SEED = 20_261_121;

const LATIN: Names = {
  first: [
    ['Zoë', 'zoe'],
    ['José', 'jose'],
    ['Łukasz', 'lukasz'],
    ['Åsa', 'asa'],
    ['Grace', 'grace'],
    ['Nguyễn', 'nguyen'],
    ['İpek', 'ipek'],
  ],
  last: [
    ['O’Brien', 'obrien'],
    ['Müller-Lüdenscheidt', 'mueller'],
    ['García Márquez', 'garcia'],
    ['Sørensen', 'sorensen'],
    ['"Ace" Smith', 'smith'],
  ],
  cities: ['Zürich', 'São Paulo', 'Kraków', 'Cork, County Cork', 'Đà Nẵng'],
};
const OTHERS: readonly Names[] = [
  {
    first: [
      ['Анна', 'anna'],
      ['Дмитрий', 'dmitri'],
    ],
    last: [
      ['Кузнецова', 'kuznetsova'],
      ['Шевченко', 'shevchenko'],
    ],
    cities: ['Київ', 'Алматы'],
  },
  {
    first: [
      ['Ελένη', 'eleni'],
      ['Γιώργος', 'giorgos'],
    ],
    last: [['Παπαδοπούλου', 'papadopoulou']],
    cities: ['Θεσσαλονίκη'],
  },
  {
    first: [
      ['伟', 'wei'],
      ['秀英', 'xiuying'],
    ],
    last: [
      ['王', 'wang'],
      ['李', 'li'],
    ],
    cities: ['成都', '上海'],
  },
  {
    first: [
      ['さくら', 'sakura'],
      ['健太', 'kenta'],
    ],
    last: [
      ['佐藤', 'sato'],
      ['髙橋', 'takahashi'],
    ],
    cities: ['札幌'],
  },
  {
    first: [
      ['지우', 'jiwoo'],
      ['민준', 'minjun'],
    ],
    last: [['김', 'kim']],
    cities: ['부산'],
  },
  {
    first: [
      ['فاطمة', 'fatima'],
      ['یوسف', 'yusuf'],
    ],
    last: [['الأحمد', 'alahmad']],
    cities: ['القاهرة'],
  },
  {
    first: [
      ['נועה', 'noa'],
      ['דוד', 'david'],
    ],
    last: [['כהן', 'cohen']],
    cities: ['חיפה'],
  },
  {
    first: [
      ['आरव', 'aarav'],
      ['प्रिया', 'priya'],
    ],
    last: [['शर्मा', 'sharma']],
    cities: ['जयपुर'],
  },
  {
    first: [
      ['สมชาย', 'somchai'],
      ['มาลี', 'malee'],
    ],
    last: [['ศรีสุข', 'srisuk']],
    cities: ['เชียงใหม่'],
  },
];
/** Domains that do not exist, by RFC 2606; the second is written in non-ASCII letters. */
const DOMAINS = ['mail.example', 'müller.example', 'post.example.org', 'example.net'];
const HEADER = 'E-mail,First name,Last name,City,Orders,Customer since';

/** Common faults in such files; each is rejected with its own reason. */
const BROKEN_LINES = [
  ',Nobody,Without Address,Nowhere,1,2024-01-01',
  'not an address,Mallory,Malone,Cork,2,2024-01-01',
  'two@@signs.example,Tom,Twice,Cork,3,2024-01-01',
  'space in@the.example,Sam,Space,Cork,1,2024-01-01',
  'many@orders.example,Olga,Orders,Lviv,plenty,2024-01-01',
  'no@day.example,Don,Date,Lviv,4,the 31st of February',
  'more@cells.example,Una,Unquoted,Cork, County Cork,5,2024-01-01',
  'dotless@,Dot,Less,Cork,1,2024-01-01',
];

/** The file, the same for the same number of people. */
export function makePeopleFile(people: number): PeopleFile {
  const random = seededRandom(SEED);
  const lines = Array.from({ length: people }, (_, index) => personLine(index + 1, random));
  for (const broken of BROKEN_LINES) lines.splice(Math.floor(random.next() * (lines.length + 1)), 0, broken);
  return { csv: `${HEADER}\r\n${lines.join('\r\n')}\r\n`, people, brokenLines: BROKEN_LINES.length };
}

function personLine(no: number, random: Random): string {
  const names = random.chance(0.5) ? LATIN : random.pick(OTHERS);
  const [first, firstLatin] = random.pick(names.first);
  const [last, lastLatin] = random.pick(names.last);
  const email = `${firstLatin}.${lastLatin}.${no}@${random.pick(DOMAINS)}`;
  const orders = random.chance(0.3) ? '' : String(Math.floor(random.next() ** 3 * 40));
  const since = new Date(Date.UTC(2_018, 0, 1 + Math.floor(random.next() * 2_900))).toISOString().slice(0, 10);
  return [email, first, last, random.chance(0.1) ? '' : random.pick(names.cities), orders, since].map(cell).join(',');
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
