import CDModel

/// Identifies the element of a version that an element of Xcode's file belongs to, by indices instead of names, because
/// an import changes names.
enum ElementIndex: Hashable {
  case model
  case entity(Int)
  case attribute(Int, Int)
  case relationship(Int, Int)
  case fetched(Int, Int)
  /// The fetch request of a fetched property.
  case fetchedRequest(Int, Int)
  case template(Int, Int)
  case configuration(Int)
  case composite(Int)
  case field(Int, Int)
}

extension ModelVersion {
  /// The element at an index; nil for the model itself.
  func element(at index: ElementIndex) -> ModelElement? {
    func property(_ entity: Int, _ name: (EntityDescription) -> String) -> PropertyName {
      PropertyName(entities[entity].name, name(entities[entity]))
    }
    return switch index {
    case .model: nil
    case .entity(let entity): .entity(entities[entity].name)
    case .attribute(let entity, let number): .attribute(property(entity) { $0.attributes[number].name })
    case .relationship(let entity, let number):
      .relationship(property(entity) { $0.relationships[number].name })
    case .fetched(let entity, let number), .fetchedRequest(let entity, let number):
      .fetchedProperty(property(entity) { $0.fetchedProperties[number].name })
    case .template(let entity, let number):
      .fetchTemplate(entity: entities[entity].name, name: entities[entity].fetchTemplates[number].name)
    case .configuration(let number): .configuration(configurations[number].name)
    case .composite(let number): .composite(composites[number].name)
    case .field(let composite, let number):
      .field(composite: composites[composite].name, name: composites[composite].fields[number].name)
    }
  }
}

/// An element written from a version's own declarations, before Xcode's additional information is added.
struct DraftElement {
  /// Nil for an element without information of its own, such as `uniquenessConstraints`.
  var key: ElementIndex?
  var element: MarkupElement
  var children: [DraftElement] = []

  init(_ key: ElementIndex?, _ element: MarkupElement, _ children: [DraftElement] = []) {
    self.key = key
    self.element = element
    self.children = children
  }
}

/// The keys and values that keep Xcode's own information under `info`.
enum XcodeInfo {
  /// The prefix of all keys that are not the model author's own.
  static let prefix = "xcode."
  /// The value for an attribute that is missing in Xcode's file, although the export would write it.
  static let absent = "(none)"
  /// The key for the forms of an entity's indexes, in their order.
  static let indexes = "xcode.indexes"
  /// The placeholder for the entity's name in a style for class names.
  static let classMark = "*"
}

extension ModelVersion {
  /// The free keys and texts that contain an element's information, and the prefix of its keys.
  func info(of key: ElementIndex) -> (info: [String: String], prefix: String) {
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

  /// Stores a text under a name for an element.
  mutating func setInfo(of key: ElementIndex, _ name: String, _ value: String) {
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
