#include "aten/environment.h"

#include "aten/toolbox.h"

namespace tendon::aten {

void Environment::define(const std::string& name, const Tensor& tensor) {
  Handle handle;
  handle.storage = static_cast<int>(storages_.size());
  handle.cached = tensor;
  handle.cached_version = 0;
  storages_.push_back(Storage{tensor, 0});
  handles_.insert_or_assign(name, std::move(handle));
}

void Environment::define_view(const std::string& name, const std::string& base, const View& view) {
  const Tensor current = read(base);
  Handle fresh = handle(base);
  fresh.chain.push_back(view);
  fresh.cached = builder_.read_view(current, view);
  handles_.insert_or_assign(name, std::move(fresh));
}

void Environment::define_alias(const std::string& name, const std::string& base) {
  read(base);
  Handle copy = handle(base);
  handles_.insert_or_assign(name, std::move(copy));
}

Environment::Handle& Environment::handle(const std::string& name) {
  const auto it = handles_.find(name);
  if (it == handles_.end()) throw InvalidProgram("no tensor is named '" + name + "'");
  return it->second;
}

Tensor Environment::read(const std::string& name) {
  Handle& h = handle(name);
  const Storage& storage = storages_[static_cast<std::size_t>(h.storage)];
  if (h.cached_version != storage.version) {
    Tensor tensor = storage.value;
    for (const View& view : h.chain) tensor = builder_.read_view(tensor, view);
    h.cached = tensor;
    h.cached_version = storage.version;
  }
  return h.cached;
}

const Scalar& Environment::scalar(const std::string& name) const {
  const auto it = scalars_.find(name);
  if (it == scalars_.end()) throw InvalidProgram("no number is named '" + name + "'");
  return it->second;
}

void Environment::write(const std::string& name, const Tensor& updated) {
  Handle& h = handle(name);
  Storage& storage = storages_[static_cast<std::size_t>(h.storage)];
  // The values along the chain, so that each view's write knows its base.
  std::vector<Tensor> bases = {storage.value};
  for (std::size_t i = 0; i + 1 < h.chain.size(); ++i) {
    bases.push_back(builder_.read_view(bases.back(), h.chain[i]));
  }
  Tensor value = updated;
  if (h.chain.empty()) {
    value = cast(builder_, value, storage.value.dtype);
  } else {
    for (std::size_t i = h.chain.size(); i-- > 0;) {
      value = builder_.write_view(bases[i], h.chain[i], value);
    }
  }
  storage.value = value;
  ++storage.version;
}

bool Environment::written(const std::string& name) const {
  const auto it = handles_.find(name);
  return it != handles_.end() &&
         storages_[static_cast<std::size_t>(it->second.storage)].version != 0;
}

}  // namespace tendon::aten
