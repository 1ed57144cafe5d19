/// An ordered list of distinct keys, with fast removal of any key.
struct KeyList {
  /// The keys; a removed key is 0.
  private var storage: [ObjectKey] = []
  /// The index of each key, built when an index is first needed.
  private var indices: [ObjectKey: Int]?
  private(set) var count = 0

  init() {}

  init(_ keys: [ObjectKey]) {
    storage = keys
    count = keys.count
  }

  var isEmpty: Bool { count == 0 }
  var keys: [ObjectKey] { count == storage.count ? storage : storage.filter { $0 != 0 } }

  /// Adds a key that is not in the list.
  @_optimize(speed)
  mutating func append(_ key: ObjectKey) {
    indices?[key] = storage.count
    storage.append(key)
    count += 1
  }

  mutating func contains(_ key: ObjectKey) -> Bool {
    index(of: key) != nil
  }

  /// Removes a key and returns whether it was in the list.
  @discardableResult
  mutating func remove(_ key: ObjectKey) -> Bool {
    guard let index = index(of: key) else { return false }
    storage[index] = 0
    indices?[key] = nil
    count -= 1
    return true
  }

  /// Inserts a key at an index, or at the end if the index is beyond it. O(n).
  mutating func insert(_ key: ObjectKey, at index: Int) {
    var keys = self.keys
    keys.insert(key, at: min(max(0, index), keys.count))
    self = KeyList(keys)
  }

  @_optimize(speed)
  private mutating func index(of key: ObjectKey) -> Int? {
    if indices == nil {
      // A short list is searched; a long list builds its indices.
      if storage.count <= 16 { return storage.lastIndex(of: key) }
      indices = Dictionary(
        storage.enumerated().lazy.filter { $0.element != 0 }.map { ($0.element, $0.offset) },
        uniquingKeysWith: { first, _ in first })
    }
    return indices?[key]
  }
}
