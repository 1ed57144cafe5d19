#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The storage of a codable attribute: its JSON, and the decoded value once it has been read.
@_spi(Generated) public struct CodableStorage<Value: Codable & Sendable> {
  // A box, so that reading can keep the decoded value: the object that holds this storage is passed to
  // `value(of:_:)`, and an observer of a decoding error may read the same property.
  private final class Box {
    var json: String?
    var value: Value?
    var isDecoded: Bool

    init(json: String?, value: Value?, isDecoded: Bool) {
      self.json = json
      self.value = value
      self.isDecoded = isDecoded
    }
  }
  private var box: Box?

  public init() {}

  init(json: String?) {
    if let json { box = Box(json: json, value: nil, isDecoded: false) }
  }

  /// Returns the value; nil if there is none, or if the JSON cannot be decoded, which is reported.
  public func value(of object: ManagedObject, _ slot: Int) -> Value? {
    guard let box else { return nil }
    if !box.isDecoded {
      box.isDecoded = true
      do {
        box.value = try JSONDecoder().decode(Value.self, from: Data((box.json ?? "").utf8))
      } catch {
        object.report(.undecodableValue, slot: slot)
      }
    }
    return box.value
  }

  public mutating func set(_ value: Value?) {
    box = value.map { Box(json: nil, value: $0, isDecoded: true) }
  }

  /// Returns the JSON, with sorted keys; nil if there is no value.
  func json() throws -> String? {
    guard let box else { return nil }
    if let json = box.json { return json }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(box.value), as: UTF8.self)
    box.json = json
    return json
  }
}

extension CodableStorage: ComparableStorage {
  func isCopy(of other: Any) -> Bool { (other as? Self)?.box === box }
}

extension RowReader {
  public func codable<Value>(_ column: Int) -> CodableStorage<Value> {
    if let storages = values?.unencodable, !storages.isEmpty,
      let storage = storages[column] as? CodableStorage<Value>
    {
      return storage
    }
    return CodableStorage(json: optionalString(column))
  }
}

extension RowWriter {
  public func codable<Value>(_ value: CodableStorage<Value>) {
    do {
      optionalString(try value.json())
    } catch {
      fail(UnencodableValue(storage: value))
    }
  }
}
