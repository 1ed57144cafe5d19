/// An element of an XML document: its attributes, its child elements, and its text.
struct MarkupElement: Hashable, Sendable {
  /// An attribute of an element.
  struct Attribute: Hashable, Sendable {
    var name: String
    var value: String
  }

  var name: String
  /// The attributes in document order. Each name occurs once.
  var attributes: [Attribute] = []
  var children: [MarkupElement] = []
  /// The text directly inside the element, joined into one string.
  var text = ""
  /// The position of the element's start, counted from 1; 0 for an element without a document.
  var line = 0
  var column = 0

  init(_ name: String, _ attributes: [(String, String?)] = [], children: [MarkupElement] = []) {
    self.name = name
    self.attributes = attributes.compactMap { name, value in value.map { Attribute(name: name, value: $0) } }
    self.children = children
  }

  /// The value of an attribute; nil if there is none. Setting nil removes the attribute.
  subscript(_ name: String) -> String? {
    get { attributes.first { $0.name == name }?.value }
    set {
      let place = attributes.firstIndex { $0.name == name }
      switch (place, newValue) {
      case (let place?, let value?): attributes[place].value = value
      case (let place?, nil): attributes.remove(at: place)
      case (nil, let value?): attributes.append(Attribute(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// Whether an attribute is `YES`, which is Xcode's form of true. `true` and `1` are accepted too.
  func flag(_ name: String) -> Bool {
    guard let value = self[name]?.lowercased() else { return false }
    return ["yes", "true", "1"].contains(value)
  }

  /// The child elements with a name.
  func children(_ name: String) -> [MarkupElement] { children.filter { $0.name == name } }
}
