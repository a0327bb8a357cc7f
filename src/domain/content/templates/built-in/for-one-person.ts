/** Built-in templates for a mail to one person: a receipt, a welcome, and asking whether to go on. */
import type { BuiltInTemplate } from './built-in-template.ts';
import { button, heading, link, MARKETING_FOOT, note, page, paragraph, row, subheading, table } from './frame.ts';

export const RECEIPT: BuiltInTemplate = {
  name: 'receipt',
  title: 'Receipt',
  description:
    'What somebody bought. Its data: `order_number`, `order_date`, `items` (each with `name`, `quantity`, `price`), `total`, `order_url`, `first_name`.',
  kind: 'transactional',
  subject: 'Your receipt{% if data.order_number %} for order {{ data.order_number }}{% endif %}',
  preheader: 'Thank you for your order.{% if data.total %} Total: {{ data.total }}.{% endif %}',
  html: page({
    title: 'Your receipt',
    look: 'card',
    body: [
      heading('Thank you for your order'),
      paragraph('Hello {{ data.first_name | default: "there" }}, we have received your payment. This is your receipt.'),
      '{% if data.order_number %}',
      paragraph(
        'Order <strong>{{ data.order_number }}</strong>{% if data.order_date %}, {{ data.order_date }}{% endif %}',
      ),
      '{% endif %}',
      table([
        row(['Item', 'Quantity', 'Price'], { isHead: true }),
        '{% for item in data.items %}',
        row(['{{ item.name }}', '{{ item.quantity | default: 1 }}', '{{ item.price }}']),
        '{% endfor %}',
        '{% if data.total %}',
        row(['<strong>Total</strong>', '', '<strong>{{ data.total }}</strong>']),
        '{% endif %}',
      ]),
      '{% if data.order_url %}',
      button('See your order', '{{ data.order_url }}'),
      '{% endif %}',
      paragraph('Is something wrong with your order? Reply to this mail, and we will put it right.'),
    ],
    foot: [
      note('You get this mail because you bought something from {CAMPAIGN_FROM_NAME}. It is no advertising.'),
      note('Your company, 1 Example Street, 12345 Example City'),
    ],
  }),
  // Made from the html, the table would be one line.
  plain: `Thank you for your order

Hello {{ data.first_name | default: "there" }}, we have received your payment. This is your receipt.
{% if data.order_number %}
Order {{ data.order_number }}{% if data.order_date %}, {{ data.order_date }}{% endif %}
{% endif %}{% for item in data.items %}
{{ item.quantity | default: 1 }} x {{ item.name }}: {{ item.price }}{% endfor %}
{% if data.total %}
Total: {{ data.total }}
{% endif %}{% if data.order_url %}
See your order: {{ data.order_url }}
{% endif %}
Is something wrong with your order? Reply to this mail, and we will put it right.

--
You get this mail because you bought something from {CAMPAIGN_FROM_NAME}. It is no advertising.
Your company, 1 Example Street, 12345 Example City
`,
};

export const WELCOME: BuiltInTemplate = {
  name: 'welcome',
  title: 'Welcome',
  description: 'The first mail to somebody who has just subscribed.',
  kind: 'marketing',
  subject: 'Welcome! This is what you will get from us',
  preheader: 'What we write about, how often, and where to begin.',
  html: page({
    title: 'Welcome',
    look: 'card',
    body: [
      heading('Welcome, {{ subscriber.first_name | default: "and thank you for joining" }}!'),
      paragraph('You are now on the list “{LIST_NAME}”. We are glad that you are here.'),
      subheading('What you will get'),
      paragraph('Say what you write about and how often, for example: one mail a month with what is new.'),
      subheading('Where to begin'),
      paragraph('Name the one page that helps a newcomer most.'),
      button('Start here', 'https://example.com/start'),
      paragraph(
        `You can ${link('change your details', '{UPDATE_PROFILE_URL}')} whenever you like. Add {CAMPAIGN_FROM_EMAIL} to your contacts, so that our mails do not end up in the junk folder.`,
      ),
    ],
    foot: MARKETING_FOOT,
  }),
  plain: '',
};

export const RE_PERMISSION: BuiltInTemplate = {
  name: 're_permission',
  title: 'Re-permission',
  description:
    'Asks people who have not opened anything for a long time whether they want to stay. A segment finds those who have clicked the button.',
  kind: 'marketing',
  subject: 'Do you still want to hear from us?',
  preheader: 'If not, you need not do anything.',
  html: page({
    title: 'Do you still want to hear from us?',
    look: 'card',
    body: [
      heading('Do you still want to hear from us?'),
      paragraph('Hello {{ subscriber.first_name | default: "there" }},'),
      paragraph(
        'You have not opened our mails of “{LIST_NAME}” for a long time. That is fine: we only want to write to people who like to read us.',
      ),
      paragraph('Would you like to stay? Then click this button once.'),
      button('Yes, keep me on the list', 'https://example.com/stay'),
      paragraph(
        `If not, ${link('unsubscribe here', '{UNSUBSCRIBE_URL}')}. If you do nothing, we will stop writing to you.`,
      ),
      paragraph('Thank you for reading us so far,<br>{CAMPAIGN_FROM_NAME}'),
    ],
    foot: MARKETING_FOOT,
  }),
  plain: '',
};
