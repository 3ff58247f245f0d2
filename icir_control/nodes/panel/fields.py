"""Numbers that are typed count as a whole: after the Enter key, or once their field is left.

viser sends a number after each key. Who types 1.2 would first have sent the arm to 1, and a value
that a node limits or refuses would come back between two keys. Of -0.5 the sign would be lost:
viser writes the -0 on the way there as 0.
"""

WHOLE_NUMBERS = """<script>
(() => {
  const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const typing = new Map();  // what reads and writes a field while nobody types into it
  function finish(event) {
    const field = event.target, property = typing.get(field);
    if (!property) return;
    typing.delete(field);
    Object.defineProperty(field, 'value', property);
    const number = Number(field.value.replace(',', '.'));
    const isNumber = field.value.trim() && Math.abs(number) < 1e9;
    const text = isNumber ? String(Number(number.toFixed(6))) : field.defaultValue;
    for (const one of ['', text]) {  // what differs from the text before would be taken for typed
      write.call(field, one);
      field.dispatchEvent(new InputEvent('input', {bubbles: true}));
    }
  }
  addEventListener('input', event => {
    const field = event.target;
    if (!event.isTrusted || !field.matches('.mantine-NumberInput-input')) return;
    event.stopPropagation();
    if (typing.has(field)) return;
    const property = Object.getOwnPropertyDescriptor(field, 'value');
    typing.set(field, property);
    Object.defineProperty(field, 'value', {...property, set: () => {}});  // keeps what is typed
  }, true);
  for (const kind of ['change', 'blur']) addEventListener(kind, finish, true);
  addEventListener('keydown', event => {
    if (['Enter', 'ArrowUp', 'ArrowDown'].includes(event.key)) finish(event);
  }, true);
})();
</script>"""
