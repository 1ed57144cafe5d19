/// A list of distinct keys in order, from which any can be removed at once.
struct KeyList {
  /// The keys, 0 where one has been removed.
  private var storage: [ObjectKey] = []
  /// The places of the keys, made when somebody first asks for a place.
  private var places: [ObjectKey: Int]?
  private(set) var count = 0

  init() {}

  init(_ keys: [ObjectKey]) {
    storage = keys
    count = keys.count
  }

  var isEmpty: Bool { count == 0 }
  var keys: [ObjectKey] { count == storage.count ? storage : storage.filter { $0 != 0 } }

  /// Adds a key that is not in the list.
  mutating func append(_ key: ObjectKey) {
    places?[key] = storage.count
    storage.append(key)
    count += 1
  }

  mutating func contains(_ key: ObjectKey) -> Bool {
    place(of: key) != nil
  }

  /// Removes a key, if it is there.
  @discardableResult
  mutating func remove(_ key: ObjectKey) -> Bool {
    guard let place = place(of: key) else { return false }
    storage[place] = 0
    places?[key] = nil
    count -= 1
    return true
  }

  /// Puts a key at a place, or at the end where the place is beyond it. O(n).
  mutating func insert(_ key: ObjectKey, at index: Int) {
    var keys = self.keys
    keys.insert(key, at: min(max(0, index), keys.count))
    self = KeyList(keys)
  }

  private mutating func place(of key: ObjectKey) -> Int? {
    if places == nil {
      // A short list is searched; a long one gets an index.
      if storage.count <= 16 { return storage.lastIndex(of: key) }
      places = Dictionary(
        storage.enumerated().lazy.filter { $0.element != 0 }.map { ($0.element, $0.offset) },
        uniquingKeysWith: { first, _ in first })
    }
    return places?[key]
  }
}
