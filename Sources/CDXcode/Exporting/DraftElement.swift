import CDModel

/// Which element of a version an element of Xcode's file is about: the places of entities and properties in their
/// lists.
enum ElementKey: Hashable {
  case model
  case entity(Int)
  case attribute(Int, Int)
  case relationship(Int, Int)
  case fetched(Int, Int)
  /// The request within a fetched property.
  case fetchedRequest(Int, Int)
  case template(Int, Int)
  case configuration(Int)
  case composite(Int)
  case field(Int, Int)
}

/// An element as it is written of what a version says, before what only Xcode knows of it is put in.
struct DraftElement {
  /// Nil for an element that has nothing of its own to keep, such as `uniquenessConstraints`.
  var key: ElementKey?
  var element: MarkupElement
  var children: [DraftElement] = []

  init(_ key: ElementKey?, _ element: MarkupElement, _ children: [DraftElement] = []) {
    self.key = key
    self.element = element
    self.children = children
  }
}

/// The words by which Xcode's own is kept under `info`.
enum XcodeInfo {
  /// What every key starts with that is not one of the model's author.
  static let prefix = "xcode."
  /// The value for an attribute that is not there, though it would be written.
  static let absent = "(none)"
  /// The forms of an entity's indexes, in their order.
  static let indexes = "xcode.indexes"
  /// Stands for the class in a style for class names.
  static let classMark = "*"
}

extension ModelVersion {
  /// Free keys and texts of an element, and what its keys start with there.
  func info(of key: ElementKey) -> (info: [String: String], prefix: String) {
    switch key {
    case .model: return (info, "xcode.")
    case .entity(let place): return (entities[place].info, "xcode.")
    case .attribute(let entity, let place): return (entities[entity].attributes[place].info, "xcode.")
    case .relationship(let entity, let place): return (entities[entity].relationships[place].info, "xcode.")
    case .fetched(let entity, let place): return (entities[entity].fetchedProperties[place].info, "xcode.")
    case .fetchedRequest(let entity, let place):
      return (entities[entity].fetchedProperties[place].info, "xcode.fetchRequest.")
    case .template(let entity, let place):
      return (entities[entity].info, "xcode.fetch.\(entities[entity].fetchTemplates[place].name).")
    case .configuration(let place): return (info, "xcode.configuration.\(configurations[place].name).")
    case .composite(let place): return (info, "xcode.composite.\(composites[place].name).")
    case .field(let composite, let place):
      let owner = composites[composite]
      return (info, "xcode.composite.\(owner.name).\(owner.fields[place].name).")
    }
  }

  /// Keeps a text under a name for an element.
  mutating func setInfo(of key: ElementKey, _ name: String, _ value: String) {
    let name = info(of: key).prefix + name
    switch key {
    case .model, .configuration, .composite, .field: info[name] = value
    case .entity(let place), .template(let place, _): entities[place].info[name] = value
    case .attribute(let entity, let place): entities[entity].attributes[place].info[name] = value
    case .relationship(let entity, let place): entities[entity].relationships[place].info[name] = value
    case .fetched(let entity, let place), .fetchedRequest(let entity, let place):
      entities[entity].fetchedProperties[place].info[name] = value
    }
  }
}
