/// An element of an XML document: its attributes, the elements within it, and the text between them.
struct MarkupElement: Hashable, Sendable {
  /// An attribute as it stands in the document.
  struct Attribute: Hashable, Sendable {
    var name: String
    var value: String
  }

  var name: String
  /// In the document's order; no name is there twice.
  var attributes: [Attribute] = []
  var children: [MarkupElement] = []
  /// The text directly within the element, in one piece.
  var text = ""
  /// Where the element starts, each counted from 1; 0 for one that is of no document.
  var line = 0
  var column = 0

  init(_ name: String, _ attributes: [(String, String?)] = [], children: [MarkupElement] = []) {
    self.name = name
    self.attributes = attributes.compactMap { name, value in value.map { Attribute(name: name, value: $0) } }
    self.children = children
  }

  /// The value of an attribute; nil where there is none. Setting nil takes it away.
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

  /// Whether an attribute is `YES`, as Xcode writes what is true; `true` and `1` are understood too.
  func flag(_ name: String) -> Bool {
    guard let value = self[name]?.lowercased() else { return false }
    return ["yes", "true", "1"].contains(value)
  }

  /// The elements of a name directly within this one.
  func children(_ name: String) -> [MarkupElement] { children.filter { $0.name == name } }
}
