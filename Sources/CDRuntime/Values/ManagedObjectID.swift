#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The key of an object within its root entity's table; 0 means no object.
@_spi(Generated) public typealias ObjectKey = Int64

/// The identifier of an object. It is permanent from the object's insertion on, and never given to another object.
///
/// An identifier is a value and can be passed where its object cannot. ``uriRepresentation`` is stable: it survives
/// migrations, and you can keep it outside the store.
///
/// ```swift
/// let id = book.objectID
/// try await container.performBackgroundTask { context in
///   let book = try Book.object(with: id, in: context)
///   book.salesRank = 1
///   try context.save()
/// }
/// ```
public struct ManagedObjectID: Hashable, Sendable {
  /// The UUID of the object's store.
  public let storeID: UUID
  /// The name of the object's entity.
  public let entityName: String
  /// The object's `_pk`.
  let key: ObjectKey

  package init(storeID: UUID, entityName: String, key: ObjectKey) {
    self.storeID = storeID
    self.entityName = entityName
    self.key = key
  }

  /// Creates an identifier from a ``uriRepresentation``; nil for any other URL.
  public init?(uri: URL) {
    self.init(text: uri.absoluteString)
  }

  init?(text: String) {
    let prefix = "cdgen://"
    guard text.hasPrefix(prefix) else { return nil }
    let parts = text.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, let storeID = UUID(uuidString: String(parts[0])),
      let entity = Self.percentDecoded(parts[1]), !entity.isEmpty, parts[2].first == "p",
      let key = Int64(parts[2].dropFirst()), key > 0
    else { return nil }
    self.init(storeID: storeID, entityName: entity, key: key)
  }

  /// `cdgen://STORE-UUID/Entity/pN`.
  public var uriRepresentation: URL {
    URL(string: text) ?? EmptyValue.url
  }

  var text: String {
    let plain = entityName.utf8.allSatisfy {
      ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x5F
    }
    let entity = plain ? entityName : Self.percentEncoded(entityName)
    return "cdgen://\(storeID.uuidString)/\(entity)/p\(key)"
  }

  private static func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func percentEncoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        encoded.unicodeScalars.append(UnicodeScalar(byte))
      default:
        encoded += byte < 0x10 ? "%0" : "%"
        encoded += String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }
}

extension ManagedObjectID: Codable {
  /// Decodes the text of a ``uriRepresentation``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = ManagedObjectID(text: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "This is not an identifier's URI.")
    }
    self = id
  }

  /// Encodes the text of the ``uriRepresentation``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The URI as text.
  public var description: String { text }
}

extension ManagedObjectID: FormatArgument {
  /// The identifier in an expression's object constant; nil if the constant is not an object of a store.
  init?(_ reference: ObjectReference) {
    if let id = reference.identifier as? ManagedObjectID {
      self = id
    } else {
      self.init(text: reference.uri)
    }
  }

  var reference: ObjectReference { ObjectReference(entity: entityName, uri: text, identifier: self) }

  /// The object of the identifier, as an argument of a format string:
  /// `FetchPredicate(format: "author == %@", arguments: [author.objectID])`.
  public var expressionConstant: ExpressionConstant { .object(reference) }
}
