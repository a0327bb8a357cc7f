/** What the specification promises about payments through gateways (3.6, and the payment-gateway part of 4.13). */
import { one, two, type Sentence } from './sentence.ts';

const CONTRACT = 'test/plugins/gateway-contract.test.ts';
const KILLS = 'test/plugins/gateway-kills.test.ts';
const TWO = 'test/plugins/gateway-two-processes.test.ts';
const CHECKOUT = 'test/inbound/gateway-checkout.test.ts';
const CLAIM = 'test/inbound/checkout.test.ts';
const DOMAIN = 'test/domain/billing/gateway-payments.test.ts';
const TROUBLES = 'test/domain/billing/gateway-troubles.test.ts';
const STRIPE = 'test/plugins/stripe.test.ts';
const PAYPAL = 'test/plugins/paypal.test.ts';
const SUBSCRIPTIONS = 'test/plugins/paypal-subscriptions.test.ts';
const REMOTE = 'test/domain/billing/remote-subscriptions.test.ts';
const WITHOUT_BROWSER = 'test/domain/billing/remote-without-browser.test.ts';

const PARAMETERS = 'a gateway of a plugin in a folder is registered with all its parameters, at both processes';
const RECORD =
  'its service is made from the gateway’s record and reads credentials by key; they are answered to nobody';
const NO_EFFECT =
  'showing the page and beginning to pay has no effect at the vendor, however often; the plugin’s own route calls it';
const SHOWN_ERROR =
  'when the vendor refuses, the browser comes back to the page, which shows the error once, at either process';
const MAPPED_BACK =
  'the vendor gets the uid of the intent, the amount and its currency; an object of another intent, or another amount, pays nothing';
const CURRENCY = 'an invoice in a currency that the gateway does not name is refused before the vendor is asked';
const READ = 'the host reads the vendor’s state when %s, and moves the intent; no webhook is needed';
const MOVED =
  'PENDING, REQUIRES_ACTION and back, FAILED: each state is what the vendor said when the host read it; final ones stay';
const NO_MEANS = 'a plugin has no means to change an intent: it opens a checkout and saves an id';
const CLAIMED = 'the button claims the payment once; a rejected one is claimed again; an approved one is paid';
const OFF_SESSION = 'a saved card pays the renewal, charged once by 50 callers and over lost answers at each step';
const OFF_SESSION_KILLED = 'a saved method is charged (%s), killed when %s';
const KEPT_BY_STRIPE = 'subscriptions that Stripe keeps are walked to the end, cancelled, and moved to another price';
const KEPT_BY_PAYPAL = 'a subscription is read, cancelled, and moved to another plan';
const WALKED = 'subscriptions are walked to the end, also when the last page is full';

const states: readonly Sentence[] = [
  two('3.6', 'PENDING: the intent was created, and the customer has not paid.', [CONTRACT, MOVED]),
  two('3.6', 'REQUIRES_ACTION: a card challenge waits for the customer.', [CONTRACT, MOVED]),
  one('3.6', 'A challenged charge of a saved card waits for the customer.', [
    STRIPE,
    'a challenge of the bank asks the customer back: the checkout takes the place of the charge, which is cancelled',
  ]),
  one('3.6', 'AWAITING_ADMIN_APPROVAL: an offline claim waits for its review.', [CLAIM, CLAIMED]),
  one('3.6', 'An approved claim has SUCCEEDED, a rejected one has FAILED.', [CLAIM, CLAIMED]),
  two('3.6', 'SUCCEEDED: the vendor has the money; the invoice is paid.', [CONTRACT, READ]),
  two('3.6', 'SUCCEEDED is final.', [
    TWO,
    'a checkout (%s) that was paid is recorded once by fifty callers on two processes, %d of them administrators',
  ]),
  two('3.6', 'FAILED is final.', [CONTRACT, MOVED]),
  one('3.6', 'FAILED stays, also when the money comes later.', [
    DOMAIN,
    'a late success pays its invoice if that is still open; the intent stays as it ended',
  ]),
  one('3.6', 'CANCELLED is final: what comes later is credit.', [
    DOMAIN,
    'a late success for an invoice that was paid in another way becomes credit, once',
  ]),
  one('3.6', 'A checkout that the customer left ends as CANCELLED.', [
    STRIPE,
    'an expired checkout is cancelled and can be begun anew; another way to pay makes it unpayable at Stripe',
  ]),
  two('3.6', 'A plugin never changes the state of an intent.', [CONTRACT, NO_MEANS]),
  two('3.6', 'The host’s sync reads the vendor’s state through the plugin and moves the intent.', [CONTRACT, READ]),
];

const registration: readonly Sentence[] = [
  two('4.13', 'Billing::register has the parameters type, name and description.', [CONTRACT, PARAMETERS]),
  two('4.13', 'serviceFactory makes the service from the record of a gateway.', [CONTRACT, RECORD]),
  two('4.13', 'icon names the icon; by default it is `payment`.', [CONTRACT, PARAMETERS]),
  two('4.13', 'isRemoteSubscription says that the vendor keeps subscriptions; by default it does not.', [
    CONTRACT,
    PARAMETERS,
  ]),
  two('4.13', 'formView names the plugin’s page for setting up; by default there is none.', [CONTRACT, PARAMETERS]),
  two('4.13', 'The service reads credentials from the record by key.', [CONTRACT, RECORD]),
  one('4.13', 'A gateway whose plugin is not active is not offered, and its payments wait.', [
    CHECKOUT,
    'without its plugin a gateway has a fault, is not offered, and its payments wait',
  ]),
];

const interfaces: readonly Sentence[] = [
  two('4.13', 'Every gateway has getCheckoutUrl(intent, returnUrl).', [CONTRACT, NO_EFFECT]),
  one('4.13', 'Every gateway has getMethodTitle and getMethodInfo: words for a saved method.', [
    TROUBLES,
    'a saved method with %s does not stop the recording of paid money',
  ]),
  {
    ...one('4.13', 'Auto-charge: autoCharge charges a saved method without the customer.', [STRIPE, OFF_SESSION]),
    onTwo: [TWO, 'a saved method (%s) is charged once by fifty callers on two processes, when %s'],
  },
  one('4.13', 'Auto-charge moves the money once, whatever is killed.', [KILLS, OFF_SESSION_KILLED]),
  one('4.13', 'A declined auto-charge leaves the invoice open with its reason.', [
    PAYPAL,
    'a saved account that is declined leaves the invoice open with the reason; the customer pays at PayPal',
  ]),
  one('4.13', 'Subscription: createSubscription begins one without a browser.', [
    WITHOUT_BROWSER,
    'without a browser: a saved card begins it, once for many requests and attempts',
  ]),
  one('4.13', 'createSubscription throws for vendors that only have a hosted checkout.', [
    WITHOUT_BROWSER,
    'without a browser: a decline and a vendor with a hosted checkout only fail with a sentence, and the page can be used',
  ]),
  one('4.13', 'Remote subscriptions: getRemotePaymentMethod answers the method of one.', [
    SUBSCRIPTIONS,
    KEPT_BY_PAYPAL,
  ]),
  one('4.13', 'Remote subscriptions: the vendor owns the state, and the host follows it.', [
    REMOTE,
    'overdue at the vendor: grace here, and paid in time it goes on; never paid, ours ends and the vendor takes no more',
  ]),
  one('4.13', 'Remote subscriptions of the bundled gateways are begun, renewed, paid late and cancelled.', [
    'test/plugins/kept-subscriptions-running.test.ts',
    'periods at %s: paid, unpaid for some days of grace, and paid late; cancelled here',
  ]),
  one('4.13', 'Remote subscriptions: getRemotePlans lists the vendor’s plans.', [
    SUBSCRIPTIONS,
    'all plans with a fixed price are listed, but those that begin with a trial',
  ]),
  one('4.13', 'Remote subscriptions: getRemoteSubscription reads one.', [STRIPE, KEPT_BY_STRIPE]),
  one('4.13', 'Remote subscriptions: cancelRemoteSubscription ends one.', [SUBSCRIPTIONS, KEPT_BY_PAYPAL]),
  one('4.13', 'Remote subscriptions: updateRemoteSubscriptionPlan moves one.', [SUBSCRIPTIONS, KEPT_BY_PAYPAL]),
];

const rules: readonly Sentence[] = [
  two('4.13', 'The model is pull-based: no inbound webhook is required.', [CONTRACT, READ]),
  two('4.13', 'The host reads the vendor’s state on page load, by the button, and by a periodic sync.', [
    CONTRACT,
    READ,
  ]),
  one('4.13', 'What was paid while the program was down is found by the schedule.', [
    KILLS,
    'what was paid while the program was stopped is found by the schedule after its start',
  ]),
  two('4.13', 'Two periodic syncs at once record each payment once.', [
    TWO,
    'the periodic syncs of two processes at once record each payment once',
  ]),
  two('4.13', 'getCheckoutUrl is free of side effects.', [CONTRACT, NO_EFFECT]),
  two('4.13', 'getCheckoutUrl returns a route of the plugin’s own controller.', [CONTRACT, NO_EFFECT]),
  two('4.13', 'That controller calls the vendor and redirects the browser to the hosted checkout.', [
    CONTRACT,
    NO_EFFECT,
  ]),
  two('4.13', 'Two browsers at once begin one payment.', [
    CONTRACT,
    'two browsers at two processes begin one payment: one object at the vendor',
  ]),
  one('4.13', 'The controller redirects to the vendor’s granted hosts only.', [
    CHECKOUT,
    'a route sends browsers nowhere else',
  ]),
  two('4.13', 'On failure it redirects back to the return URL with an error that is shown once.', [
    CONTRACT,
    SHOWN_ERROR,
  ]),
  two('4.13', 'The uid of the intent is sent to the vendor as custom data.', [CONTRACT, MAPPED_BACK]),
  two('4.13', 'Every read maps the uid back; what carries another one pays nothing.', [CONTRACT, MAPPED_BACK]),
  two('4.13', 'The amount is sent with an explicit currency code.', [CONTRACT, MAPPED_BACK]),
  two('4.13', 'An unknown currency is rejected.', [CONTRACT, CURRENCY]),
  one('4.13', 'Amounts of currencies without decimals are sent as the vendor wants them.', [
    STRIPE,
    'currencies without decimals are sent whole; those of which nobody is sure are refused',
  ]),
  one('4.13', 'The host walks all remote subscriptions to the end of the list.', [
    REMOTE,
    'foreign and unknown ones are listed and left alone; the list is walked to its end',
  ]),
  one('4.13', 'getRemoteSubscriptions answers {data, has_more, next_cursor} and is walked until has_more is false.', [
    SUBSCRIPTIONS,
    WALKED,
  ]),
];

/** What the host does with the functions of vendors that own subscriptions. */
const remote: readonly Sentence[] = [
  one('4.13', 'The host links plans with those that getRemotePlans answers, and refuses what differs.', [
    'test/domain/billing/remote-plans.test.ts',
    'a plan is linked with a plan of the vendor; what differs is refused and named; unlinking ends it',
  ]),
  one('4.13', 'createSubscription is called for headless flows, once for all attempts.', [
    WITHOUT_BROWSER,
    'without a browser: a saved card begins it, once for many requests and attempts',
  ]),
  one(
    '4.13',
    'createSubscription throws for vendors with a hosted checkout only, and the payment fails with its sentence.',
    [
      WITHOUT_BROWSER,
      'without a browser: a decline and a vendor with a hosted checkout only fail with a sentence, and the page can be used',
    ],
  ),
  one('4.13', 'The periodic sync walks getRemoteSubscriptions to its end; what is unknown is left alone.', [
    REMOTE,
    'foreign and unknown ones are listed and left alone; the list is walked to its end',
  ]),
  one('4.13', 'Subscriptions are mapped back by the uid of the intent, and a paid period is counted once.', [
    REMOTE,
    'a paid period is counted once by many syncs at once, on the invoice of the renewal; the host charges nothing',
  ]),
  one('4.13', 'cancelRemoteSubscription is called when ours is cancelled, and again when it fails.', [
    REMOTE,
    'cancelling and terminating ours cancels the vendor’s once; a vendor that fails is asked again, and the operator sees it',
  ]),
  one('4.13', 'updateRemoteSubscriptionPlan is called when the plan changes.', [
    REMOTE,
    'another plan begins with the next period that the vendor takes the money for',
  ]),
  one('4.13', 'getRemotePaymentMethod says how the subscription is paid.', [
    REMOTE,
    'the first invoice begins a subscription at the vendor, which is known at once; an unlinked plan is a single payment',
  ]),
];

export const gatewaySentences: readonly Sentence[] = [...states, ...registration, ...interfaces, ...rules, ...remote];
