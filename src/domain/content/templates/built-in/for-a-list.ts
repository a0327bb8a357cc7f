/** Built-in templates for writing to a list: a plain letter, a newsletter, an announcement. */
import type { BuiltInTemplate } from './built-in-template.ts';
import { button, heading, link, MARKETING_FOOT, page, paragraph, rule, subheading } from './frame.ts';

const GREETING = 'Hello {{ subscriber.first_name | default: "there" }},';

export const PLAIN_LETTER: BuiltInTemplate = {
  name: 'plain_letter',
  title: 'Plain letter',
  description: 'Text as one person writes to another, without decoration.',
  kind: 'marketing',
  subject: 'A short note from {CAMPAIGN_FROM_NAME}',
  preheader: 'What I want to tell you, in one sentence.',
  html: page({
    title: 'A short note',
    look: 'letter',
    body: [
      heading('A short note'),
      paragraph(GREETING),
      paragraph(
        'I am writing because … Say in the first sentence what this is about and why it matters to the reader.',
      ),
      paragraph(
        `Keep it to one subject. If there is more to read, link to it: ${link('the whole story', 'https://example.com/story')}.`,
      ),
      paragraph('If you have a question, reply to this mail. I read every answer.'),
      paragraph('Kind regards,<br>{CAMPAIGN_FROM_NAME}'),
    ],
    foot: MARKETING_FOOT,
  }),
  plain: '',
};

export const NEWSLETTER: BuiltInTemplate = {
  name: 'newsletter',
  title: 'Newsletter',
  description: 'An introduction and three stories, each with a link.',
  kind: 'marketing',
  subject: 'News of the month: the first story, in a few words',
  preheader: 'Also: the second story, and the third.',
  html: page({
    title: 'News of the month',
    look: 'card',
    body: [
      heading('News of the month'),
      paragraph('Two or three sentences that say what is in this issue and for whom it is worth reading.'),
      rule(),
      ...story('The first story', 'https://example.com/first'),
      rule(),
      ...story('The second story', 'https://example.com/second'),
      rule(),
      ...story('The third story', 'https://example.com/third'),
      rule(),
      paragraph('That is all for this month. Reply to this mail if you have a question or an idea for the next issue.'),
    ],
    foot: MARKETING_FOOT,
  }),
  plain: '',
};

export const ANNOUNCEMENT: BuiltInTemplate = {
  name: 'announcement',
  title: 'Announcement',
  description: 'One piece of news and one button.',
  kind: 'marketing',
  subject: 'New: what it is, in a few words',
  preheader: 'What it does for you, and from when.',
  html: page({
    title: 'New: what it is',
    look: 'card',
    body: [
      heading('New: what it is, in a few words'),
      paragraph('Say in one or two sentences what is new and what the reader gains from it.'),
      button('See what is new', 'https://example.com/new'),
      subheading('What you need to know'),
      paragraph('<strong>When:</strong> the day from which it is there.'),
      paragraph('<strong>For whom:</strong> everybody, or only customers with a certain plan.'),
      paragraph('<strong>What to do:</strong> nothing, or the one step that is needed.'),
      paragraph('Questions? Reply to this mail.'),
    ],
    foot: MARKETING_FOOT,
  }),
  plain: '',
};

function story(title: string, address: string): string[] {
  return [
    subheading(title),
    paragraph('What happened, and why it matters. Two to four sentences are enough: the rest is behind the link.'),
    paragraph(link(`Read “${title}”`, address)),
  ];
}
